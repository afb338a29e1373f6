"""Cuts texts into tokens, in several processes."""

import random
import time


def shard(number: int, seconds: float) -> list[int]:
    rng, counts, ends = random.Random(number), [0] * 256, time.monotonic() + seconds
    while time.monotonic() < ends:
        word = "".join(rng.choice("abcdefgh") for _ in range(8))
        counts[hash(word) % 256] += 1
    return counts
