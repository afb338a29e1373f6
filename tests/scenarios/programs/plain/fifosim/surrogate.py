"""Fits a surrogate of a simulator, online: a sample is used when it comes."""

import sys
import time

weights = [0.0] * 16
for line in sys.stdin:
    number, *values = line.split()
    x = [float(value) for value in values]
    error = 0.5 - sum(w * v for w, v in zip(weights, x, strict=True))
    weights = [w + 0.05 * error * v for w, v in zip(weights, x, strict=True)]
    time.sleep(0.3)
    print(f"sample {number} error {error:+.4f}", flush=True)
