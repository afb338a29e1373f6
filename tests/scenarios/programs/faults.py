"""What can go wrong in a rank, by name: faults that never come back (`stuck.py`) and work that only takes long (`busy.py`)."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LIFE_S = 240
"""Every process ends by itself after this."""
FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Job:
    """What a fault needs to know: the number of its rank, a folder of its own, and for how long work goes on."""

    rank: int
    folder: Path
    seconds: float

    def until(self) -> Callable[[], bool]:
        ends = time.monotonic() + self.seconds
        return lambda: time.monotonic() < ends


Fault = Callable[[Job], None]
FAULTS: dict[str, Fault] = {}


def fault(function: Fault) -> Fault:
    FAULTS[function.__name__] = function
    return function


@fault
def healthy(job: Job) -> None:
    """Nothing happens."""
