"""Nim against an older self: counts all games to the end, with little rests for the neighbours."""

import sys
import time


def wins(heaps: tuple[int, ...]) -> int:
    total = 0
    for index, heap in enumerate(heaps):
        for take in range(1, heap + 1):
            left = (*heaps[:index], heap - take, *heaps[index + 1 :])
            total += 1 if sum(left) == 0 else -1 if wins(left) > 0 else 1
    return total


score, step = 0, int(sys.argv[1])
for size in range(330):
    score += wins((3, 2 + size % 2, 4))
    time.sleep(0.06)
print(1000 + score % 400 + step)
