"""A forest of shallow trees, boosted. Lines are JSON."""

import json
import time

import numpy as np

rng = np.random.default_rng(0)
x = rng.standard_normal((4000, 12))
y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2]


def tell(event, **more):
    print(json.dumps({"ts": round(time.time(), 3), "logger": "fit", "event": event, **more}), flush=True)


guess = np.zeros(len(y))
tell("run.start", rounds=50)
for number in range(1, 51):
    rest = y - guess
    column = int(rng.integers(12))
    at = float(rng.standard_normal())
    left = x[:, column] < at
    guess += 0.3 * np.where(left, rest[left].mean(), rest[~left].mean())
    time.sleep(0.1)
    tell("round", n=number, rmse=round(float(np.sqrt(np.mean((y - guess) ** 2))), 5))
np.save("forest.npy", guess)
tell("artifact.saved", path="forest.npy")
tell("run.end", status="ok", exit_code=0)
