"""Two loaders look up features or make them; a loop takes them out of a queue."""

import multiprocessing as mp
import os
import random
import time
from multiprocessing.queues import Queue

import cache

ROUNDS = 550_000


def features(key: str) -> int:
    if (known := cache.lookup(key)) is not None:
        return known
    value = sum(ord(letter) * 31**at for at, letter in enumerate(key)) % 100_003
    time.sleep(0.08)
    cache.store(key, value)
    return value


def loader(number: int, out: "Queue[int]") -> None:
    print(f"(loader-{number}) pid={os.getpid()}", flush=True)
    rng = random.Random(number)
    for count in range(1, 100_000):
        out.put(features(f"img_{rng.randrange(4000):05d}"))
        if number == 0 and count == 180:
            print("(loader-0) key scheme v1 found, moving to v2", flush=True)
            cache.rehash(ROUNDS)


def main() -> None:
    context = mp.get_context("fork")
    ready: Queue[int] = context.Queue(maxsize=8)
    loaders = [context.Process(target=loader, args=(number, ready), daemon=True) for number in range(2)]
    for one in loaders:
        one.start()
    print(f"(trainer) pid={os.getpid()}", flush=True)
    mean = 0.0
    for step in range(1, 301):
        batch = [ready.get() for _ in range(8)]
        mean += 0.05 * (sum(batch) / 8 - mean)
        print(f"(trainer) step={step:04d}/300 mean={mean:.1f}", flush=True)
    print("(trainer) done", flush=True)


if __name__ == "__main__":
    main()
