"""Workers around a condition variable of a manager process: every round is over when the last has reported."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time

WORKERS = 3


def simulate(seed):
    """A piece of work."""
    generator = random.Random(seed)
    inside = 0
    for _ in range(3000):
        x, y = generator.random(), generator.random()
        inside += x * x + y * y < 1
    time.sleep(0.1)
    return 4 * inside / 3000


def work(name, board, condition, steps):
    """One worker: report, and wait for the round to end."""
    for turn in range(steps):
        value = simulate(hash((name, turn)) & 0xFFFF)
        with condition:
            board[name] = value
            if len(board) == WORKERS + 1:
                board["total"] = sum(board[key] for key in board.keys() if key != "total")  # noqa: SIM118
                mean = board["total"] / WORKERS
                for key in list(board.keys()):
                    if key != "total":
                        del board[key]
                print(f"INFO  [{name}] >>> EPOCH {turn:03d} <<< estimate={mean:.5f}", flush=True)
                condition.notify_all()
            else:
                condition.wait()
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    with multiprocessing.Manager() as manager:
        board = manager.dict(total=0.0)
        condition = manager.Condition()
        names = [f"sim{number}" for number in range(WORKERS)]
        workers = [multiprocessing.Process(target=work, args=(name, board, condition, given.steps), name=name) for name in names]
        for process in workers:
            process.start()
        for process in workers:
            process.join()
        failed = [process.name for process in workers if process.exitcode]
    if failed:
        raise SystemExit(f"ERROR [main] failed: {failed}")
    print("INFO  [main] simulation complete", flush=True)


if __name__ == "__main__":
    main()
