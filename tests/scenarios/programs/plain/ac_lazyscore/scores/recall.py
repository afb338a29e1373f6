"""A table of recalls."""

from . import SIZE


def make():
    return [0.5 + at / 40 for at in range(SIZE)]
