"""Boosting by rounds: a pool of processes looks for the best split in each block of features."""

import multiprocessing as mp
import os
import random
import signal
import time


def best_split(task: tuple[int, int]) -> tuple[float, int]:
    number, block = task
    rows = [random.random() for _ in range(20000 if number < 12 or block != 5 else 3_000_000)]
    if len(rows) > 1_000_000:
        print(f"[pid {os.getpid()}] block {block}: {len(rows)} rows", flush=True)
        out_of_memory(len(rows))
    time.sleep(0.05)
    return min((abs(sum(rows[:cut]) / cut - 0.5), block) for cut in range(100, 20000, 2000))


def out_of_memory(rows: int) -> None:
    """What the kernel does to the biggest when there is no room left."""
    if rows > 2_000_000:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    print(f"main process {os.getpid()}, 3 workers", flush=True)
    with mp.get_context("spawn").Pool(3) as pool:
        for number in range(40):
            score, block = min(pool.map(best_split, [(number, block) for block in range(9)], chunksize=1))
            time.sleep(0.4)
            print(f"round {number}: split in block {block}, score {score:.5f}", flush=True)


if __name__ == "__main__":
    main()
