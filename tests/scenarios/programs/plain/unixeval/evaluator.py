"""Waits at a unix socket for checkpoints, and plays with each until the mean is sure to three places, or the time is over."""

import argparse
import json
import logging
import os
import random
import time
from multiprocessing.connection import Listener
from pathlib import Path

from bandit import hand

logging.basicConfig(format="[%(asctime)s] %(name)s %(message)s", level=logging.INFO, datefmt="%m-%d %H:%M:%S")
log = logging.getLogger("evaluator")
LIMIT_S = 50.0


def load(path: Path) -> dict[int, float]:
    return {int(key): value for key, value in json.loads(path.read_text()).items()}


def evaluate(path: Path) -> dict[str, float]:
    weights, rng, ends = load(path), random.Random(0), time.monotonic() + LIMIT_S
    total, squares, count = 0.0, 0.0, 0
    while time.monotonic() < ends:
        for _ in range(1000):
            won = hand(rng, weights, 0.0)[1]
            total, squares, count = total + won, squares + won * won, count + 1
        if (squares / count - (total / count) ** 2) / count < 1e-9:
            break
    return {"mean": total / count, "count": count}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    given = parser.parse_args()
    with Listener(given.socket, family="AF_UNIX") as listener:
        log.info("pid %d listens at %s", os.getpid(), given.socket)
        while True:
            with listener.accept() as learner:
                try:
                    while True:
                        asked = learner.recv()
                        log.info("evaluating %s", asked["ckpt"])
                        learner.send(evaluate(Path(asked["ckpt"])))
                except EOFError:
                    log.info("learner has left")


if __name__ == "__main__":
    main()
