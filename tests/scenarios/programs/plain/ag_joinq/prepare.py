"""Cuts documents into windows, three workers; the main process waits until every task is acknowledged, then writes the index."""

import hashlib
import multiprocessing as mp
import os
import time

TASKS = 150


def worker(number: int, tasks: "mp.JoinableQueue[int]", done: "mp.Queue[str]") -> None:
    print(f"worker {number} pid {os.getpid()}", flush=True)
    while True:
        task = tasks.get()
        digest = hashlib.sha256(str(task).encode()).hexdigest()
        time.sleep(0.15)
        done.put(digest)
        if task % 10 == 0:
            print(f"document {task}/{TASKS} -> {digest[:8]}", flush=True)
        tasks.task_done()


def main() -> None:
    tasks: mp.JoinableQueue[int] = mp.JoinableQueue()
    done: mp.Queue[str] = mp.Queue()
    for number in range(3):
        mp.Process(target=worker, args=(number, tasks, done), daemon=True).start()
    for task in range(1, TASKS + 1):
        tasks.put(task)
    tasks.join()
    windows = sorted(done.get() for _ in range(TASKS))
    print(f"index of {len(windows)} windows written", flush=True)


if __name__ == "__main__":
    main()
