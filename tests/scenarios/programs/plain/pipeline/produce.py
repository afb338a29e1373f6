"""A line of numbers after the other."""

import random
import time

rng = random.Random(0)
while True:
    print(" ".join(f"{rng.random():.4f}" for _ in range(40)), flush=True)
    time.sleep(0.005)
