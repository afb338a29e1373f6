"""The benchmark of each night: tasks in two worker processes, with one more try for each that fails."""

import multiprocessing as mp
import os
import random
import socket
import sys
import time
import traceback

TASKS = 24


def solve(task: int, attempt: int) -> float:
    rng = random.Random(task)
    time.sleep(0.5 + rng.random() / 2)
    if task % 9 == 5 and not attempt:
        raise TimeoutError(f"task {task}: judge did not answer within 0.5 s")
    if task == 17:
        raise ConnectionResetError(104, "Connection reset by peer")
    return rng.random()


def work(number: int, tasks: "mp.Queue[int | None]", done: "mp.Queue[tuple[int, float | None]]") -> None:
    while (task := tasks.get()) is not None:
        for attempt in range(2):
            try:
                value = solve(task, attempt)
                print(f"worker {number}: task {task:>2} score {value:.3f}", flush=True)
                done.put((task, value))
                break
            except OSError:
                traceback.print_exc()
        else:
            print(f"ERROR worker {number}: task {task} given up after 2 attempts", flush=True)
            done.put((task, None))


class Tracker:
    """A line to the tracker of experiments, closed when it is forgotten."""

    def __init__(self) -> None:
        self.line = socket.socket()

    def __del__(self) -> None:
        self.line.connect(("127.0.0.1", 9))


def main() -> int:
    print(f"nightly benchmark, {TASKS} tasks, pid {os.getpid()}", flush=True)
    tasks, done = mp.Queue(), mp.Queue()
    tracker = Tracker()
    workers = [mp.Process(target=work, args=(number, tasks, done)) for number in range(2)]
    for worker in workers:
        worker.start()
    for task in [*range(TASKS), None, None]:
        tasks.put(task)
    values = dict(done.get() for _ in range(TASKS))
    for worker in workers:
        worker.join()
    kept = [value for value in values.values() if value is not None]
    print(f"mean {sum(kept) / len(kept):.4f} of {len(kept)}/{TASKS} tasks, 1 failed; report written to nightly.json", flush=True)
    with open("nightly.json", "w") as out:
        out.write(str(values))
    del tracker
    return 0


if __name__ == "__main__":
    sys.exit(main())
