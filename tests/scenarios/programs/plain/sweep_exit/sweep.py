"""A sweep over rates: a trial that diverges is skipped, with its traceback in the log. Then a report."""

import logging
import sys
import threading
import traceback
import warnings

import numpy as np

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname).1s %(message)s")
dice = np.random.default_rng(1)
points = dice.normal(size=(200, 6))
target = points @ np.arange(6) + dice.normal(size=200)


class Spool:
    """What is to be drawn later."""

    def __init__(self, path):
        self.file = open(path, "w")
        self.guard = threading.Lock()

    def add(self, *values):
        with self.guard:
            self.file.write(" ".join(map(str, values)) + "\n")

    def __del__(self):
        self.file.close()
        self.file.write("end\n")


def trial(rate):
    weights = np.zeros(6)
    for _ in range(400):
        weights -= rate * points.T @ (points @ weights - target) / 200
        if not np.isfinite(weights).all():
            raise FloatingPointError(f"weights diverged at rate {rate:g}")
    return float(np.mean((points @ weights - target) ** 2))


spool, best = Spool("curve.txt"), (np.inf, 0.0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for number, rate in enumerate(np.geomspace(0.001, 30, 14), 1):
        try:
            error = trial(rate)
        except FloatingPointError:
            logging.error("trial %d/14 failed\n%s", number, traceback.format_exc())
            continue
        spool.add(rate, error)
        best = min(best, (error, float(rate)))
        logging.info("trial %d/14 rate %.4f error %.4f", number, rate, error)
logging.info("best error %.4f with rate %.4f, written to best.txt", *best)
with open("best.txt", "w") as file:
    file.write(f"{best}\n")
