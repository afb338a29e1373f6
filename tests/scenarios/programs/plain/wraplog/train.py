"""A regression with a record for each step, for those who plot it."""

import json
import os
import random
import time


def main() -> None:
    rng, weights = random.Random(4), [0.0] * 64
    print(json.dumps({"event": "start", "pid": os.getpid(), "dim": len(weights)}))
    for step in range(1, 5001):
        x = [rng.gauss(0, 1) for _ in weights]
        error = sum(x[:8]) - sum(w * one for w, one in zip(weights, x, strict=True))
        weights = [w + 0.01 * error * one for w, one in zip(weights, x, strict=True)]
        record: dict[str, object] = {"step": step, "loss": round(error * error, 4), "lr": 0.01, "epoch": round(step / 1000, 3)}
        if DETAIL:
            record["weights"] = weights * 2
        print(json.dumps(record))
        time.sleep(0.35)


DETAIL = True
main()
