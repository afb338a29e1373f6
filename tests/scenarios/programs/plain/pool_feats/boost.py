"""Boosting by stumps: the features are searched by a pool of processes, a range of thresholds each."""

import multiprocessing as mp
import os
import signal
import time

import numpy as np

GROWS = {}
"""By number of the worker: from which round it is too large for the machine."""
ROWS, FEATURES = 600, 24
points = np.random.default_rng(0).normal(size=(ROWS, FEATURES))
target = np.sign(points[:, 3] * points[:, 7] + 0.2)


def hello():
    number = mp.current_process()._identity[0]
    print(f"worker {number} up, pid {os.getpid()}", flush=True)


def search(job):
    turn, feature, residual = job
    if turn >= GROWS.get(mp.current_process()._identity[0], 10**9):
        os.kill(os.getpid(), signal.SIGKILL)
    column = points[:, feature]
    best = (np.inf, feature, 0.0, 0.0)
    for threshold in np.quantile(column, np.linspace(0.05, 0.95, 19)):
        left = column < threshold
        value = residual[left].mean() - residual[~left].mean()
        error = float(np.sum((residual - np.where(left, value, -value)) ** 2))
        best = min(best, (error, feature, float(threshold), float(value)))
    return best


def main():
    print(f"boosting, pid {os.getpid()}", flush=True)
    residual = target.copy()
    with mp.get_context("fork").Pool(3, hello) as pool:
        for turn in range(1, 401):
            jobs = [(turn, feature, residual) for feature in range(FEATURES)]
            error, feature, threshold, value = min(pool.map(search, jobs, chunksize=1))
            residual = residual - 0.3 * np.where(points[:, feature] < threshold, value, -value)
            print(f"[round {turn:3d}] feature {feature} at {threshold:+.3f}, error {error:.2f}", flush=True)
            time.sleep(0.1)


main()
