"""A number in a range, as the value of an option. `nan` and `inf` are in no range: a limit that nothing exceeds is none."""

from __future__ import annotations

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number
