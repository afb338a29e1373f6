"""What a process did between looks: counters become rates, letters become shares of a window. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec import Struct

from hangtop.records.process import Recent
from hangtop.sources.proc.table import Details, Stat

WINDOW_S = 30.0
"""The window of the rules on blocked and slow processes (research on hangs: R2, R4)."""


class Sample(Struct, frozen=True):
    """One look. `details` only where they were asked for in this look. `at`: unix time; `ticks_per_s`: of `cpu_ticks`."""

    at: float
    stat: Stat
    details: Details | None = None


class History:
    """The looks of the last `WINDOW_S` at one process."""

    def __init__(self, ticks_per_s: int) -> None:
        self._ticks_per_s = ticks_per_s
        self._samples: deque[Sample] = deque()
        self.details: Details | None = None
        self.state_since: float | None = None

    def add(self, sample: Sample) -> None:
        """A new look; one older than the window before it is dropped."""
        before = self._samples[-1].stat.state if self._samples else None
        wchan = self.details.wchan if self.details is not None else None
        if sample.details is not None:
            self.details = sample.details
        moved = sample.details is not None and sample.stat.state == "D" and sample.details.wchan != wchan
        if self.state_since is None or before != sample.stat.state or moved:
            self.state_since = sample.at
        self._samples.append(sample)
        while len(self._samples) > 2 and sample.at - self._samples[1].at >= WINDOW_S:
            self._samples.popleft()

    @property
    def cpu_percent(self) -> float | None:
        """Over the last two looks, of one core."""
        return self._cpu(self._samples[-2], self._samples[-1]) if len(self._samples) > 1 else None

    def rate(self, counter: Callable[[Details], int | None]) -> float | None:
        """Units a second between the last two looks that saw this counter."""
        seen = self._counted(counter)
        return _slope(*seen[-2:]) if len(seen) > 1 else None

    def recent(self) -> Recent | None:
        """The window in numbers; `None` until there are two looks."""
        if len(self._samples) < 2:
            return None
        states = [sample.stat.state for sample in self._samples]
        blocked = {sample.details.wchan for sample in self._samples if sample.stat.state == "D" and sample.details is not None}
        delay = self._mean(lambda details: details.run_delay_ns)
        return Recent(
            seconds=round(self._samples[-1].at - self._samples[0].at, 1),
            samples=len(states),
            running_part=_part(states, "R"),
            blocked_part=_part(states, "D"),
            wchan=blocked.pop() if len(blocked) == 1 else None,
            cpu_percent=self._cpu(self._samples[0], self._samples[-1]),
            io_b_s=self._mean(stored),
            passed_b_s=self._mean(lambda details: details.passed_bytes),
            switches_s=self._mean(lambda details: details.switches),
            delay_part=None if delay is None else round(delay / 1e9, 3),
        )

    def _cpu(self, first: Sample, last: Sample) -> float | None:
        seconds = last.at - first.at
        ticks = last.stat.cpu_ticks - first.stat.cpu_ticks
        return None if seconds <= 0 else round(100 * ticks / self._ticks_per_s / seconds, 1)

    def _mean(self, counter: Callable[[Details], int | None]) -> float | None:
        seen = self._counted(counter)
        return _slope(seen[0], seen[-1]) if len(seen) > 1 else None

    def _counted(self, counter: Callable[[Details], int | None]) -> list[tuple[float, int]]:
        return [
            (sample.at, value)
            for sample in self._samples
            if sample.details is not None and (value := counter(sample.details)) is not None
        ]


def stored(details: Details) -> int | None:
    """Bytes from and to storage, both ways."""
    if details.read_bytes is None or details.write_bytes is None:
        return None
    return details.read_bytes + details.write_bytes


def _slope(first: tuple[float, int], last: tuple[float, int]) -> float | None:
    seconds = last[0] - first[0]
    return None if seconds <= 0 else round(max(0, last[1] - first[1]) / seconds, 1)


def _part(states: list[str], letter: str) -> float:
    return round(states.count(letter) / len(states), 3)
