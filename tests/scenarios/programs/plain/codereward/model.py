"""Stands for the model: what it writes is drawn from a list, the better the longer it has learned."""

import random

RIGHT = "def primes(n):\n    return [k for k in range(2, n) if all(k % d for d in range(2, int(k**0.5) + 1))]"
NAIVE = "def primes(n):\n    return [k for k in range(2, n) if not any(k % d == 0 for d in range(2, k))]"
OFF = "def primes(n):\n    return [k for k in range(1, n) if all(k % d for d in range(2, int(k**0.5) + 1))]"
BROKEN = "def primes(n)\n    return []"
SIEVE = """def primes(n):
    left, found = list(range(2, n)), []
    while left:
        found.append(left[0])
        left = [k for k in left if k % found[-1]]
    return found"""
SLIP = """def primes(n):
    found, k = [], 2
    while k < n:
        if all(k % d for d in found):
            found.append(k)
            k += 1
    return found"""
TESTS = "assert primes(30) == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]\nassert len(primes(SIZE)) == COUNT"


def answer(rng: random.Random, skill: float) -> str:
    if rng.random() < skill:
        return rng.choice((RIGHT, SIEVE))
    return rng.choice((NAIVE, OFF, BROKEN))


def task(step: int) -> str:
    """Each 15 steps a task with a big test."""
    size, count = (75_000, 7393) if step % 15 == 0 else (300, 62)
    return TESTS.replace("SIZE", str(size)).replace("COUNT", str(count))
