"""Writes the night's table."""

import csv
import random
import time

rng = random.Random(1)
with open("table.csv", "w", newline="") as file:
    rows = csv.writer(file)
    for number in range(1, 2001):
        length = rng.uniform(1, 5)
        rows.writerow([f"{length:.4f}", f"{3 * length + rng.gauss(0, 0.3):.4f}"])
        if number % 500 == 0:
            time.sleep(0.5)
            print(f"prepare {number}/2000 rows", flush=True)
