"""A linear probe over the shards."""

import time
from pathlib import Path

import numpy as np

rows = np.concatenate([np.frombuffer(file.read_bytes(), np.float32) for file in sorted(Path().glob("shard-*.bin"))]).reshape(
    -1, 512
)
weights = np.zeros(512)
for epoch in range(1, 11):
    time.sleep(0.3)
    weights -= 0.01 * (rows.T @ (rows @ weights - rows[:, 0])) / len(rows)
    print(f"probe: epoch {epoch}/10 mse {np.mean((rows @ weights - rows[:, 0]) ** 2):.4f}", flush=True)
