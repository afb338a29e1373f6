"""A grid of kernel machines, three at a time; what does not work out is noted."""

import itertools
import logging
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np

logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
log = logging.getLogger("grid")


def trial(number, gamma, ridge):
    source = np.random.default_rng(number)
    rows = source.normal(size=(300, 6))
    wanted = np.sign(rows[:, 0] * rows[:, 1] + 0.1 * source.normal(size=300))
    time.sleep(0.5 + source.random())
    kernel = np.exp(-gamma * np.square(rows[:, None] - rows[None]).sum(-1))
    if gamma < 1e-4 and ridge == 0:
        raise np.linalg.LinAlgError("Singular matrix")
    weights = np.linalg.solve(kernel + ridge * np.eye(300), wanted)
    score = float((np.sign(kernel @ weights) == wanted).mean())
    if not np.isfinite(score) or np.abs(weights).max() > 1e6:
        raise FloatingPointError(f"weights exploded: {np.abs(weights).max():.2e}")
    return score


if __name__ == "__main__":
    grid = list(itertools.product((1e-5, 1e-3, 0.1, 1.0, 10.0), (0, 1e-6, 1e-2, 1.0), range(15)))
    best = 0.0
    with ProcessPoolExecutor(3) as pool:
        futures = {pool.submit(trial, n, gamma, ridge): n for n, (gamma, ridge, _) in enumerate(grid, 1)}
        for done, future in enumerate(as_completed(futures), 1):
            n = futures[future]
            try:
                best = max(best, future.result())
                log.info("trial %d/%d finished, best so far %.3f (%d done)", n, len(grid), best, done)
            except (np.linalg.LinAlgError, FloatingPointError) as problem:
                log.error("trial %d/%d FAILED: %s", n, len(grid), problem)
                traceback.print_exception(problem)
    log.info("grid finished, best %.3f", best)
