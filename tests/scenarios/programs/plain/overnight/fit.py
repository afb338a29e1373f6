"""A walk to a minimum, with a learning rate that falls."""

import argparse
import math
import random
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--out", type=Path, required=True)
given = parser.parse_args()
rng = random.Random(given.seed)
point = [rng.uniform(-4, 4) for _ in range(2000)]
for epoch in range(1, 21):
    rate = 0.2 * math.cos(epoch / 21 * math.pi / 2)
    point = [value - rate * (value + rng.gauss(0, 0.2)) for value in point]
    time.sleep(0.5)
    print(f"Epoch {epoch:2d}/20 - loss: {sum(value * value for value in point) / 2000:.4f} - lr: {rate:.5f}")
given.out.write_bytes(rng.randbytes(400_000))
print(f"wrote {given.out}")
