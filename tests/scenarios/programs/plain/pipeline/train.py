"""Reads its batches from its standard input."""

import sys
import time

step, mean, batch = 0, 0.0, []
for line in sys.stdin:
    batch.append(sum(map(float, line.split())) / 40)
    if len(batch) == 32:
        step += 1
        mean += 0.2 * (sum(batch) / 32 - mean)
        batch.clear()
        print(f"step={step} mean={mean:.4f}", file=sys.stderr, flush=True)
        time.sleep(0.1)
