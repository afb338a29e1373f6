import time

import numpy as np

rng = np.random.default_rng(0)
w, target = np.zeros(64), rng.normal(size=64)
for step in range(1, 61):
    w += 0.1 * (target - w)
    time.sleep(0.3)
    print(f"  tune step {step}/60 mse {np.square(target - w).mean():.5f}")
print("  tune: done")
