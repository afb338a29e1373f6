"""Learns when to draw. Every 40 iterations the evaluator plays with the new checkpoint; the best one so far is kept."""

import argparse
import json
import logging
import os
import random
import time
from multiprocessing.connection import Client, Connection
from pathlib import Path

from bandit import Weights, hand

logging.basicConfig(format="[%(asctime)s] %(name)s %(message)s", level=logging.INFO, datefmt="%m-%d %H:%M:%S")
log = logging.getLogger("learner")


def connect(path: str) -> Connection:
    while True:
        try:
            return Client(path, family="AF_UNIX")
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.2)


def save(iteration: int, weights: Weights) -> Path:
    path = Path(f"ckpt/it_{iteration:05}.json")
    path.write_text(json.dumps(weights))
    return path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    given = parser.parse_args()
    rng, weights, best = random.Random(3), Weights(), -1.0
    evaluator = connect(given.socket)
    log.info("pid %d, evaluator is there", os.getpid())
    for iteration in range(1, 2001):
        total = 0.0
        for _ in range(2000):
            hands, won = hand(rng, weights, 0.5)
            total += won
            for held, draws in hands:
                weights[held] = weights.get(held, 0.0) + 0.01 * (won if draws else -won)
        time.sleep(0.1)
        log.info("iter=%d mean_return=%.4f", iteration, total / 2000)
        if iteration % 40 == 0:
            path = save(iteration, weights)
            evaluator.send({"cmd": "evaluate", "ckpt": str(path), "best": best})
            result = evaluator.recv()
            log.info("iter=%d eval/return=%.4f eval/episodes=%d", iteration, result["mean"], result["count"])
            best = max(best, result["mean"])


if __name__ == "__main__":
    main()
