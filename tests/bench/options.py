"""What all benchmarks are told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """`size`: bytes of the big log. `seconds`: how long a steady state is looked at."""

    size: int = 10**9
    seconds: float = 20.0
