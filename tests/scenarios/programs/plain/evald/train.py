"""Trains; each 20 steps a checkpoint, and it goes on when the daemon has scored it."""

import json
import time
from pathlib import Path


def scored(step: int, w: float) -> float:
    name = f"{step:04}.json"
    Path("ckpt", f".{name}").write_text(json.dumps({"w": w}))
    Path("ckpt", f".{name}").rename(Path("ckpt", name))
    result = Path("results", name)
    while not result.exists() or not result.stat().st_size:
        time.sleep(2)
    return float(json.loads(result.read_text())["accuracy"])


w = 0.3
for step in range(1, 101):
    w += 0.1 * (1 - w)
    time.sleep(0.2)
    print(f"it={step} w={w:.4f}", flush=True)
    if step % 20 == 0:
        print(f"accuracy@{step}={scored(step, w):.3f}", flush=True)
