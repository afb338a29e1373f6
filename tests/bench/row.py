"""One line of the table that the benchmarks print: what, measured, budget, ok or over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

MIB = 2**20
LINEAR = 1.1
"""What one more may cost over one of the next smaller size, where the cost is to be linear."""


@dataclass(frozen=True)
class Row:
    """`budget` is the most that `measured` may be, or the least when `at_least`. Without one the row is there to compare."""

    what: str
    measured: float
    unit: str
    budget: float | None = None
    at_least: bool = False

    @property
    def verdict(self) -> str:
        if self.budget is None or self.measured != self.measured:
            return ""
        kept = self.measured >= self.budget if self.at_least else self.measured <= self.budget
        return "ok" if kept else "OVER"

    @property
    def limit(self) -> str:
        return "" if self.budget is None else f"{'≥' if self.at_least else '≤'} {number(self.budget)}"

    @property
    def cells(self) -> tuple[str, str, str]:
        """What, measured and budget, for a table."""
        return (
            self.what,
            f"{number(self.measured)} {self.unit}".strip(),
            self.limit + (" (over)" if self.verdict == "OVER" else ""),
        )

    def __str__(self) -> str:
        return f"{self.what:<58}{number(self.measured):>10} {self.unit:<8}{self.limit:>9}  {self.verdict}"


def slopes(costs: Mapping[int, float], one: str) -> Iterator[Row]:
    """What `one` costs at each size over the one before it. `costs`: of all, by size, the smallest first."""
    for fewer, more in pairwise(costs):
        yield Row(f"the same {one}, {more:,} over {fewer:,}", costs[more] / costs[fewer] / (more / fewer), "x", LINEAR)


def number(value: float) -> str:
    """Three digits that matter: `0.31`, `46.2`, `1,234`."""
    if value != value:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
