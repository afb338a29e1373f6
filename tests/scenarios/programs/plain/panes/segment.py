"""Finds the two levels of a noisy signal, epoch by epoch."""

import argparse
import os
import random
import time

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=40)
epochs = parser.parse_args().epochs
rng, low, high = random.Random(1), 0.0, 0.5
print(f"segment.py pid {os.getpid()} epochs {epochs}")
for epoch in range(1, epochs + 1):
    began = time.time()
    for batch in range(1, 13):
        signal = [rng.gauss(rng.choice((-1.0, 2.0)), 0.4) for _ in range(4000)]
        lows = [value for value in signal if abs(value - low) < abs(value - high)]
        highs = [value for value in signal if abs(value - low) >= abs(value - high)]
        low += 0.05 * (sum(lows) / max(1, len(lows)) - low)
        high += 0.05 * (sum(highs) / max(1, len(highs)) - high)
        if batch % 4 == 0:
            print(f"epoch {epoch} batch {batch:2d}/12 low {low:+.3f} high {high:+.3f}")
        time.sleep(0.3)
    print(f"epoch {epoch} in {time.time() - began:.1f} s, done")
