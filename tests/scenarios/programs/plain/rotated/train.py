"""Gradient descent on a quadratic, with a word on each parameter group."""

import time

import numpy as np

dice = np.random.default_rng(0)
groups = [dice.normal(size=64) for _ in range(12)]
for step in range(1, 3001):
    for number, group in enumerate(groups):
        group -= 0.001 * group
        print(f"DEBUG step {step} group {number:02d} norm {np.linalg.norm(group):.6f} max {group.max():.6f} min {group.min():.6f}")
    print(f"INFO step {step}/3000 loss {sum(float(group @ group) for group in groups):.4f}", flush=True)
    time.sleep(0.05)
