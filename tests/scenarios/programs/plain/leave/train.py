"""Trains with a process that prefetches, and leaves in a hurry, as who has a library that crashes at exit."""

import multiprocessing as mp
import os
import random
import sys
import time


def prefetch(room: "mp.synchronize.Semaphore", link: "mp.connection.Connection") -> None:
    while True:
        room.acquire()
        link.send([random.random() for _ in range(32)])


def main() -> None:
    context = mp.get_context("spawn")
    room, (near, far) = context.Semaphore(4), context.Pipe()
    feeder = context.Process(target=prefetch, args=(room, far), daemon=True)
    feeder.start()
    weight = 0.0
    for epoch in range(1, 6):
        for _ in range(10):
            weight += 0.01 * (sum(near.recv()) / 32 - weight)
            room.release()
            time.sleep(0.1)
        print(f"{time.strftime('%F %T')} INFO epoch {epoch}/5 weight {weight:.4f}")
    print(f"{time.strftime('%F %T')} INFO training complete, model written to model.bin")
    feeder.kill()
    feeder.join()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
