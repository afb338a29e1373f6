"""Judges samples, in a process of the evaluation."""

import time


def judge(number: int, seconds: float) -> float:
    ends, value = time.monotonic() + seconds, float(number + 1)
    while time.monotonic() < ends:
        value = (value * 1.1) % 7.3
    return value
