"""One trainer with helpers that it made itself: loaders behind a queue, or a pool of processes. No rank has a number.

    helped.py HOW [--folder F]

Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import argparse
import fcntl
import math
import multiprocessing
import os
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.queues import Queue
from pathlib import Path

LIFE_S = 240
WORLD = 4
FORK = multiprocessing.get_context("fork")


def say(step: int) -> None:
    print(f"step {step}/40 loss={2 / step:.4f}", flush=True)


def load_batches(batches: Queue[list[float]], folder: Path, stops_after: int) -> None:
    signal.alarm(LIFE_S)
    for number in range(10_000):
        if number == stops_after:
            locked(folder)
        batches.put([math.sin(number)] * 1_000)


def locked(folder: Path) -> None:
    """Two handles of one file: the second lock is never granted."""
    first, second = (folder / f"shard.{os.getpid()}").open("w"), (folder / f"shard.{os.getpid()}").open("w")
    fcntl.flock(first, fcntl.LOCK_EX)
    fcntl.flock(second, fcntl.LOCK_EX)


def forward(batch: list[float]) -> float:
    return sum(math.exp(sample) for sample in batch)


def backward(loss: float) -> float:
    return sum(math.log(loss + number) for number in range(1, 20_000))


def trains(folder: Path, stops_after: int, long_step: bool) -> None:
    """Loaders fill a queue; the trainer takes from it, and its sixth step may be a long one."""
    batches: Queue[list[float]] = FORK.Queue(4)
    for _ in range(3):
        FORK.Process(target=load_batches, args=(batches, folder, stops_after), daemon=True).start()
    for step in range(1, 41):
        batch = batches.get()
        time.sleep(0.1)
        ends = time.monotonic() + (60 if long_step and step == 6 else 0)
        backward(forward(batch))
        while time.monotonic() < ends:
            backward(forward(batch))
        say(step)


def score(task: tuple[str, int, float]) -> float:
    folder, number, seconds = task
    signal.alarm(LIFE_S)
    if number == 22:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            backward(2.0)
        if not seconds:
            locked(Path(folder))
    time.sleep(0.1)
    return float(number)


def pools(folder: Path, seconds: float) -> None:
    """Four tasks a step; the 22nd is a long one, or never ends."""
    with ProcessPoolExecutor(WORLD, mp_context=FORK) as pool:
        for step in range(1, 41):
            sum(pool.map(score, [(str(folder), 4 * step + place, seconds) for place in range(WORLD)]))
            say(step)


def main() -> int:
    signal.alarm(LIFE_S)
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=("trains", "starves", "pool_works", "pool_stuck"))
    parser.add_argument("--folder", default=".")
    args = parser.parse_args()
    folder = Path(args.folder)
    if args.how.startswith("pool"):
        pools(folder, 60.0 if args.how == "pool_works" else 0.0)
    else:
        trains(folder, 3 if args.how == "starves" else -1, args.how == "trains")
    return 0


if __name__ == "__main__":
    sys.exit(main())
