"""Looks for the best mixture on a laboratory bench; each probe has to settle before it is read."""

import json
import math
import random
import time
from datetime import datetime
from pathlib import Path

SETTLE_S = 17.0
results: list[dict[str, float]] = []


def probe(heat: float, flow: float) -> float:
    """Set the valves, wait, read the meter."""
    time.sleep(SETTLE_S)
    return math.exp(-((heat - 0.3) ** 2) - (flow - 0.6) ** 2) + random.gauss(0, 0.02)


def suggest() -> tuple[float, float]:
    if len(results) < 5:
        return random.random(), random.random()
    best = max(results, key=lambda result: result["yield"])
    return best["heat"] + random.gauss(0, 0.1), best["flow"] + random.gauss(0, 0.1)


random.seed(4)
print("bench connected, 60 probes planned", flush=True)
for number in range(1, 61):
    heat, flow = suggest()
    found = probe(heat, flow)
    results.append({"heat": heat, "flow": flow, "yield": found})
    Path("results.json").write_text(json.dumps(results), encoding="utf-8")
    print(f"{datetime.now():%H:%M:%S} probe {number}/60 heat={heat:.2f} flow={flow:.2f} yield={found:.3f}", flush=True)
