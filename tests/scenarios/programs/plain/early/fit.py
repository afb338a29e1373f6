"""Fits a line with patience."""

import random
import sys
import time
from pathlib import Path

rng = random.Random(5)
slope, best, since, patience = 0.0, float("inf"), 0, 6
for epoch in range(1, 101):
    for _ in range(50):
        x = rng.random()
        slope += 0.1 * (2.0 * x + rng.gauss(0, 0.05) - slope * x) * x
    time.sleep(0.2)
    loss = abs(slope - 2.0) + 0.01
    print(f"Epoch {epoch:3d}/100  val_loss {loss:.5f}  slope {slope:.4f}", flush=True)
    if loss < best:
        best, since = loss, 0
        Path("best.txt").write_text(f"{epoch} {slope}")
    else:
        since += 1
    if since >= patience:
        print(f"Epoch {epoch}: val_loss did not improve for {patience} epochs. Early stopping.", flush=True)
        print(f"Restoring the weights of {Path('best.txt').read_text().split()[0]}; best val_loss {best:.5f}", flush=True)
        sys.exit(0)
