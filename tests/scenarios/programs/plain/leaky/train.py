"""Two loader processes with semaphores, a replay buffer that grows."""

import multiprocessing as mp
import os
import time
from multiprocessing.queues import Queue


def load(out: "Queue[bytes]", parent: int) -> None:
    while os.getppid() == parent:
        try:
            out.put(bytes(1000), timeout=2)
        except Exception:
            continue


if __name__ == "__main__":
    context = mp.get_context("spawn")
    feed: "Queue[bytes]" = context.Queue(maxsize=4)
    lock = context.Lock()
    loaders = [context.Process(target=load, args=(feed, os.getpid()), daemon=True) for _ in range(2)]
    for loader in loaders:
        loader.start()
    replay = [b""]
    for step in range(1, 500):
        with lock:
            replay.append(feed.get() * (1000 if step < 30 else 200_000))
        time.sleep(0.2)
        print(f"step {step} replay {sum(map(len, replay)) / 1e6:.0f} MB reward {step / 500:.3f}", flush=True)
