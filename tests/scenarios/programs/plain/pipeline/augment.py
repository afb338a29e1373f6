"""Each line twice, the second time with noise, by a thread beside; in order."""

import random
import sys
from concurrent.futures import Future, ThreadPoolExecutor

pool = ThreadPoolExecutor(1)


def noisy(numbers: list[float]) -> list[float]:
    return [number + random.gauss(0, 0.01) for number in numbers]


def both(line: str) -> str:
    numbers = [float(word) for word in line.split()]
    second = noisy(numbers)
    return "\n".join(" ".join(f"{number:.4f}" for number in part) for part in (numbers, second))


waiting: list[Future[str]] = []
for line in sys.stdin:
    waiting.append(pool.submit(both, line))
    if len(waiting) >= 4:
        print(waiting.pop(0).result(), flush=True)
