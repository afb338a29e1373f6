"""Cuts documents into pieces for retrieval: three workers take parts of the corpus from a queue."""

import multiprocessing as mp
import os
import random
import time
from collections.abc import Iterator

LIMIT = 120


def document(part: int, number: int) -> str:
    rng = random.Random(part * 1000 + number)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(400)]
    if (part, number) == (14, 31):
        words[200] = "https://example.org/q?" + "&".join(f"k{at}={at}" for at in range(60))
    return " ".join(words)


def pieces(text: str) -> Iterator[str]:
    while len(text) > LIMIT:
        cut = text.rfind(" ", 0, LIMIT)
        if piece := text[:cut].strip():
            yield piece
        text = text[cut:]
    yield text.strip()


def worker(tasks: mp.Queue, results: mp.Queue) -> None:
    while (part := tasks.get()) is not None:
        print(f"worker {os.getpid()} takes part {part}", flush=True)
        count = 0
        for number in range(60):
            count += sum(1 for _ in pieces(document(part, number)))
            time.sleep(0.02)
        results.put((part, count))


def main() -> None:
    tasks, results = mp.Queue(), mp.Queue()
    workers = [mp.Process(target=worker, args=(tasks, results)) for _ in range(3)]
    for one in workers:
        one.start()
    for part in range(20):
        tasks.put(part)
    for _ in workers:
        tasks.put(None)
    total = 0
    for done in range(1, 21):
        part, count = results.get()
        total += count
        print(f"{done}/20 parts, part {part}: {count} pieces, {total} in all", flush=True)
    for one in workers:
        one.join()
    print("index can be built", flush=True)


if __name__ == "__main__":
    main()
