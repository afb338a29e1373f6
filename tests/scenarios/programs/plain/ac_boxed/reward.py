"""Rewards of a completion: its boxed answer, compared with the truth."""

import re

BOXED = re.compile(r"\\boxed\{((?:[^{}]+|\{[^{}]*\})*)\}")


def boxed(text):
    found = BOXED.findall(text)
    return found[-1].strip() if found else None


def reward(completion, truth):
    answer = boxed(completion)
    if answer is None:
        return -1.0
    return 1.0 if answer == truth else 0.0
