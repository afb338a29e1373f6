"""PPO-like: rollouts by a process pool executor, updates by the main process, a table of numbers for a log."""

from __future__ import annotations

import argparse
import random
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

WORKERS = 3


def episode(task):
    """In a pool process."""
    seed, mean = task
    generator = random.Random(seed)
    total = 0.0
    for _ in range(300):
        action = generator.gauss(mean, 0.5)
        total -= (action - 0.7) ** 2
    time.sleep(0.12)
    return total / 300, mean


def improve(mean, results):
    """In the main process."""
    pull = 0.0
    for score, used in results:
        pull += (0.7 - used) * -score
    time.sleep(0.06)
    return mean + 0.05 * pull / len(results)


def train(pool, steps):
    """Update after update."""
    mean, frames = 0.0, 0
    print("updates   frames    score     mean", flush=True)
    for update in range(1, steps + 1):
        tasks = [(update * WORKERS + number, mean) for number in range(WORKERS)]
        futures = [pool.submit(episode, task) for task in tasks]
        results = []
        for future in as_completed(futures):
            results.append(future.result())  # noqa: PERF401
        frames += 300 * WORKERS
        mean = improve(mean, results)
        score = sum(score for score, _ in results) / len(results)
        print(f"{update:7d} {frames:8d} {score:8.4f} {mean:8.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    with ProcessPoolExecutor(WORKERS) as pool:
        train(pool, given.steps)
    print("all updates done", flush=True)


if __name__ == "__main__":
    main()
