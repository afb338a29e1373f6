"""A small regression that takes its time."""

import os
import random
import sys
import time

name, rng, slope = sys.argv[1], random.Random(2), 0.0
print(f"[{name}] pid {os.getpid()}")
for iteration in range(1, 2001):
    batch = [(x := rng.gauss(0, 1), 1.7 * x + rng.gauss(0, 0.1)) for _ in range(3000)]
    loss = sum((y - slope * x) ** 2 for x, y in batch) / len(batch)
    slope += 0.01 * sum((y - slope * x) * x for x, y in batch) / len(batch)
    time.sleep(0.25)
    if iteration % 4 == 0:
        print(f"[{name}] iteration {iteration}/2000  mse {loss:.5f}  slope {slope:.4f}")
