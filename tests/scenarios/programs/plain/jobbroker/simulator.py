"""Simulates a design for a seed. Some seeds give no valid terrain."""

import os
import random
import sys
import time

from lines import dial

BAD_SEED = 0.02
BRITTLE = 10**9


def simulate(design: list[float], seed: int) -> float:
    rng = random.Random(seed)
    if rng.random() < BAD_SEED:
        raise LookupError("no terrain for this seed")
    score = 0.0
    for _ in range(60):
        score -= sum((x - 0.5) ** 2 for x in design) + rng.gauss(0, 0.01)
        time.sleep(0.005)
    return score / 60


def main() -> None:
    number, broker, done = int(sys.argv[1]), dial(), 0
    print(f"[simulator {number}] pid {os.getpid()}", flush=True)
    while True:
        broker.send(kind="ready")
        job = broker.receive()["job"]
        done += 1
        if number == 1 and done == BRITTLE:
            os.environ["TERRAIN"] = os.environ["TERRAIN_PATH"]
        try:
            broker.send(kind="done", job=job, score=simulate(job["design"], job["seed"]))
        except LookupError as problem:
            broker.send(kind="refuse", job=job, why=str(problem))


if __name__ == "__main__":
    main()
