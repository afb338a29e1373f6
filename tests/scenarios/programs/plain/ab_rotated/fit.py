"""Searches a model within budgets of time: in each iteration two processes try what they can; the log is begun anew after every second."""

import logging
import math
import multiprocessing as mp
import os
import random
import time
from logging.handlers import RotatingFileHandler

BUDGETS_S = (6, 11, 12, 40, 12, 12, 12)


def search(seed: int, budget_s: float) -> tuple[float, int]:
    """The best of all that were tried within the budget."""
    rng, best, tried = random.Random(seed), math.inf, 0
    ends = time.monotonic() + budget_s
    while time.monotonic() < ends:
        width, rate = rng.uniform(0.1, 9), rng.uniform(0, 1)
        best = min(best, sum((math.sin(x / width) - rate * math.cos(x)) ** 2 for x in range(400)) / 400)
        tried += 1
    return best, tried


def main() -> None:
    os.mkdir("logs")
    handler = RotatingFileHandler("logs/fit.log", backupCount=5)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("fit")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    with mp.Pool(2) as pool:
        log.info("search with 2 processes, pid %d", os.getpid())
        for iteration, budget in enumerate(BUDGETS_S, 1):
            found = pool.starmap(search, [(iteration * 2 + index, budget) for index in range(2)])
            log.info("iter %d best %.5f, %d tried", iteration, min(found)[0], sum(tried for _, tried in found))
            if iteration % 3 == 0:
                handler.doRollover()
                log.info("log begun anew, the last one is fit.log.1")


if __name__ == "__main__":
    main()
