"""A model of n-grams, from what was sorted."""

import lzma
import time

with lzma.open("sorted.xz", "rt") as lines:
    for step in range(1, 31):
        counts = [int(line.split()[0]) for _, line in zip(range(3000), lines, strict=False)]
        time.sleep(0.2)
        print(f"step {step} mean count {sum(counts) / max(1, len(counts)):.3f}")
