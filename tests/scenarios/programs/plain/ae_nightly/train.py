"""Matrix factorisation of the day's ratings."""

import time

import numpy as np

rng = np.random.default_rng(3)
users, items, rank = 900, 400, 12
ratings = rng.normal(size=(users, rank)) @ rng.normal(size=(rank, items)) + 0.3 * rng.normal(size=(users, items))
left, right = rng.normal(size=(users, rank)), rng.normal(size=(rank, items))
for epoch in range(1, 13):
    left = ratings @ right.T @ np.linalg.inv(right @ right.T + 0.1 * np.eye(rank))
    right = np.linalg.inv(left.T @ left + 0.1 * np.eye(rank)) @ left.T @ ratings
    rmse = float(np.sqrt(np.mean((ratings - left @ right) ** 2)))
    time.sleep(0.6)
    print(f"{time.strftime('%F %T')} train: epoch {epoch}/12 rmse {rmse:.5f}", flush=True)
    with open("metrics.prom", "w") as file:
        file.write(f"train_rmse {rmse}\n")
np.savez("factors.npz", left=left, right=right)
print(f"{time.strftime('%F %T')} train: training done, factors.npz written", flush=True)
