"""Renders samples."""

import random
import time

for number in range(1, 41):
    with open(f"data/sample{number:03d}.txt", "w", encoding="utf-8") as file:
        file.writelines(f"{random.random():.6f}\n" for _ in range(2000))
    time.sleep(0.25)
    if number % 4 == 0:
        print(f"  sample {number}/40", flush=True)
