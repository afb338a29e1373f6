"""Lets a small letter model write incident reports, and asks how much its answers to one question agree."""

import random
from collections import defaultdict
from pathlib import Path

ORDER, ITEMS, LENGTH = 7, 40, 260
SAMPLES = {12: 90, 30: 60}
corpus = Path("reports.txt").read_text()
after = defaultdict(list)
for k in range(len(corpus) - ORDER):
    after[corpus[k : k + ORDER]].append(corpus[k + ORDER])


def write(source):
    start = source.choice([k for k in range(len(corpus) - ORDER) if corpus[k - 1 : k] in ("", "\n")])
    text = corpus[start : start + ORDER]
    while len(text) < LENGTH:
        options = after.get(text[-ORDER:])
        if not options:
            break
        text += source.choice(options)
    return text


def alike(one, other):
    """Length of the longest text that both have in order, of the longer."""
    row = [0] * (len(other) + 1)
    for a in one:
        last = 0
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], last + 1 if a == b else max(row[j], row[j - 1])
    return row[-1] / max(len(one), len(other))


print(f"model of order {ORDER}, {len(after)} contexts; {ITEMS} items", flush=True)
total = 0.0
for item in range(1, ITEMS + 1):
    source = random.Random(item)
    answers = [write(source) for _ in range(SAMPLES.get(item, 4))]
    print(f"item {item}/{ITEMS} first answer:", flush=True)
    print(answers[0], flush=True)
    print(f"--- comparing {len(answers)} answers", flush=True)
    pairs = [(a, b) for k, a in enumerate(answers) for b in answers[:k]]
    agreement = sum(alike(a, b) for a, b in pairs) / len(pairs)
    total += agreement
    print(f"agreement {agreement:.3f} mean {total / item:.3f}", flush=True)
print("evaluation finished", flush=True)
