"""Looks every 20 s for new parts, and fits an epoch on each."""

import lzma
import os
import time
from pathlib import Path

print(f"trainer: pid {os.getpid()}, looks into drop/ every 20 s", flush=True)
seen: set[str] = set()
rate = 0.0
time.sleep(4)
while len(seen) < 6:
    for part in sorted(Path("drop").glob("part-*.xz")):
        if part.name not in seen:
            seen.add(part.name)
            with lzma.open(part, "rt") as rows:
                for index, row in enumerate(rows):
                    rate += (int(row.split(",")[1]) % 2 - rate) / (index + 2)
            print(f"trainer: epoch {len(seen)} on {part.name}, rate {rate:.4f}", flush=True)
    if len(seen) < 6:
        time.sleep(20)
