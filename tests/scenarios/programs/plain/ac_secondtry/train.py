"""One attempt: maps its corpus, then trains; the first attempt meets a file that is not complete yet."""

import array
import random
import sys
from pathlib import Path

attempt = int(sys.argv[1])


def index(texts):
    """Suffixes of all texts in order: the corpus is searched for what it has twice."""
    joined = "".join(texts)
    order = sorted(range(len(joined)), key=lambda at: joined[at : at + 60])
    twice = sum(joined[a : a + 8] == joined[b : b + 8] for a, b in zip(order, order[1:], strict=False))
    return array.array("I", order), twice


def train(steps, first):
    weight = 0.0
    for step in range(first, steps + 1):
        for turn in range(60000):
            weight += (1.0 - weight) * 1e-6 * (turn % 3)
        print(f"it {step:>4} | weight {weight:.6f} | lr {1e-3 * (1 - step / steps):.2e}", flush=True)


if attempt == 1:
    train(100, 1) if Path("corpus").exists() else train(30, 1)
    with open("corpus/part-3.bin", "rb") as part:
        part.read()
print(f"attempt {attempt}: resuming from it 30", flush=True)
rng = random.Random(1)
size = 0
for part in range(150):
    order, twice = index("".join(rng.choices("acgt", k=160000)) for _ in range(1))
    size += twice
train(60, 31)
print("done")
