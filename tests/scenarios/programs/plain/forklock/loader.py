"""A child of fork() decodes; a thread of the parent keeps a cache of what is near."""

import multiprocessing as mp
import os
import threading
import time

lock = threading.Lock()
cache: dict[int, int] = {}


def decode(key: int) -> int:
    with lock:
        if key in cache:
            return cache[key]
    return sum(k * k for k in range(key * 100))


def warm(entries: int) -> None:
    """Brings entries in ahead of time, one after the other."""
    for key in range(entries):
        with lock:
            time.sleep(0.15)
            cache[key] = key


def child(keys: list[int], out: "mp.SimpleQueue[int]") -> None:
    out.put(sum(decode(key) for key in keys))


def main() -> None:
    context = mp.get_context("fork")
    print(f"trainer {os.getpid()}", flush=True)
    for epoch in range(16):
        near = threading.Thread(target=warm, args=(40,), daemon=True)
        if epoch >= 9:  # by now it is worth it
            near.start()
        out = context.SimpleQueue()
        decoder = context.Process(target=child, args=(list(range(60)), out))
        decoder.start()
        print(f"epoch {epoch}: decoder {decoder.pid}", flush=True)
        total = out.get()
        decoder.join()
        time.sleep(0.8)
        print(f"epoch {epoch} trained, total {total}", flush=True)


main()
