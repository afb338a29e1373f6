"""Texts of one language on stdout."""

import random
import sys

source = random.Random(sys.argv[1])
size = {"fr": 500_000, "index": 2_000}.get(sys.argv[1], 40_000)
words = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randint(2, 9))) for _ in range(60000)]
for _ in range(size):
    print(" ".join(source.choices(words, k=9)))
