"""Judges weights on long walks: an error and how far it may be off, by drawing the walks again and again."""

import random
import statistics
import sys

import torch

weights = torch.load(sys.argv[1])["weight"][0].tolist()
numbers = random.Random(5)
errors = []
for _ in range(int(sys.argv[2])):
    total = 0.0
    for _ in range(40_000):
        row = [numbers.gauss(0, 1) for _ in weights]
        total += abs(sum(w * x for w, x in zip(weights, row, strict=True)) - sum(row))
    errors.append(total / 40_000)
print(f"{statistics.mean(errors):.4f} +- {statistics.stdev(errors):.4f}")
