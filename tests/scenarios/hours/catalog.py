"""All the hours, by name."""

from __future__ import annotations

from tests.scenarios.hours import large, loops, others, rl, trainers
from tests.scenarios.hours.run import HOURS

__all__ = ["HOURS", "large", "loops", "others", "rl", "trainers"]
