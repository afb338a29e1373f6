"""Trains; keeps its weights now and then."""

import time

import torch

weights = torch.zeros(64, 64)
for step in range(1, 161):
    for _ in range(40):
        weights = weights + 1e-3 * (torch.randn(64, 400) @ torch.randn(400, 64))
    time.sleep(0.35)
    if step % 10 == 0:
        print(f"step {step} norm {weights.norm():.3f}", flush=True)
    if step in (10, 20, 120, 160):
        torch.save(weights, f"ckpt/step-{step}.pt")
