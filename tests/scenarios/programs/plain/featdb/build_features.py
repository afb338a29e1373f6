"""A day after the other: counts of that day, written to the database of features."""

import math
import os
import random
import sqlite3
import time

DAYS = 90
base = sqlite3.connect(os.environ["FEATURES"], timeout=1800, isolation_level=None)
print(f"{time.strftime('%F %T')} INFO features -> {os.environ['FEATURES']} pid={os.getpid()}", flush=True)
source = random.Random(1)
for day in range(1, DAYS + 1):
    clicks = [source.expovariate(1.0) for _ in range(40000)]
    mean = sum(clicks) / len(clicks)
    spread = math.sqrt(sum((click - mean) ** 2 for click in clicks) / len(clicks))
    rows = [(day, "mean", mean), (day, "spread", spread), (day, "top", max(clicks))]
    base.execute("BEGIN IMMEDIATE")
    base.executemany("INSERT INTO feature VALUES (?, ?, ?)", rows)
    base.execute("COMMIT")
    print(f"{time.strftime('%F %T')} INFO day {day}/{DAYS} mean={mean:.4f} spread={spread:.4f}", flush=True)
    time.sleep(0.25)
print(f"{time.strftime('%F %T')} INFO done", flush=True)
