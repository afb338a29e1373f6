"""Quantizes: for each group of weights the scale with the least error, tried one by one. Says nothing until it is done."""

import sys
from pathlib import Path

weights = [float(line) for line in Path(sys.argv[1]).read_text().split()]
scales = []
for start in range(0, len(weights), 8):
    group = weights[start : start + 8]
    best, least = 0.0, float("inf")
    for candidate in range(1, 300_000):
        scale = candidate / 300_000
        error = 0.0
        for weight in group[:4]:
            error += abs(round(weight / scale) * scale - weight)
        if error < least:
            best, least = scale, error
    scales.append(best)
Path("out/scales.txt").write_text("\n".join(map(str, scales)))
print(f"exported {len(scales)} groups", flush=True)
