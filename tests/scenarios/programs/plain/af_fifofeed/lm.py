"""A bigram model, trained from one pipe and validated from another."""

import math
import sys
import time
from collections import Counter

EVERY, BATCH = 30, 400
train_name, valid_name = sys.argv[1:]
pairs, heads, step = Counter(), Counter(), 0


def perplexity(lines: list[str]) -> float:
    total, count = 0.0, 0
    for line in lines:
        words = ["<s>", *line.split()]
        for before, word in zip(words, words[1:]):
            total -= math.log((pairs[before, word] + 0.1) / (heads[before] + 5))
            count += 1
    return math.exp(total / count)


valid: list[str] | None = None
with open(train_name, encoding="utf-8") as stream:
    batch: list[str] = []
    for line in stream:
        batch.append(line)
        if len(batch) < BATCH:
            continue
        loss = math.log(perplexity(batch))
        for text in batch:
            words = ["<s>", *text.split()]
            pairs.update(zip(words, words[1:]))
            heads.update(words[:-1])
        batch, step = [], step + 1
        time.sleep(0.15)
        print(f"| batch {step:4d}/520 | tokens {sum(heads.values()):8d} | loss {loss:6.3f} |")
        if step % EVERY == 0:
            if valid is None:
                with open(valid_name, encoding="utf-8") as file:
                    valid = file.readlines()
            print(f"| valid at {step:4d} | {len(valid)} sentences | ppl {perplexity(valid):8.2f} |")
print("| done |")
