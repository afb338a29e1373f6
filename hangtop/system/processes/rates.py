"""What a process did of late: counters become rates, state letters become shares of a window. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from msgspec import Struct

from hangtop.records.process import RecentActivity
from hangtop.system.processes.table import Details, Stat

WINDOW_S = 30.0
"""The window of the rules on blocked and slow processes (research on hangs: R2, R4)."""
SHORTEST_S = 5.0


def window_s(stall_s: float) -> float:
    """The window for this stall limit: at most half of it, so that activity before a silence does not count."""
    return min(WINDOW_S, max(SHORTEST_S, stall_s / 2))


YOUNG_S = 5.0
"""About the time of a few samples."""

Counter = Callable[[Details], int | None]


class Sample(Struct, frozen=True):
    """One read of a process at unix time `at`. `details`: only if they were read."""

    at: float
    stat: Stat
    details: Details | None = None


class RateHistory:
    """The samples of one process in the last `window_s`."""

    def __init__(self, ticks_per_s: int, window_s: float = WINDOW_S) -> None:
        self._ticks_per_s = ticks_per_s
        self._window_s = window_s
        self._samples: deque[Sample] = deque()
        self.details: Details | None = None
        self.state_since: float | None = None

    def add(self, sample: Sample) -> None:
        """Add a sample and drop those older than the window."""
        before = self._samples[-1].stat.state if self._samples else None
        wchan = self.details.wchan if self.details is not None else None
        if sample.details is not None:
            self.details = sample.details
        moved = sample.details is not None and sample.stat.state == "D" and sample.details.wchan != wchan
        if self.state_since is None or before != sample.stat.state or moved:
            self.state_since = sample.at
        self._samples.append(sample)
        while len(self._samples) > 2 and sample.at - self._samples[1].at >= self._window_s:
            self._samples.popleft()

    @property
    def cpu_percent(self) -> float | None:
        """Percent of one core, over the last two samples."""
        return self._percent(self._samples[-2], self._samples[-1]) if len(self._samples) > 1 else None

    def cpu_percent_since(self, started_at: float) -> float | None:
        """The same; of a young process with one sample, since its start: compilers live for seconds."""
        if len(self._samples) != 1 or (age_s := self._samples[0].at - started_at) > YOUNG_S:
            return self.cpu_percent
        ticks = self._samples[0].stat.cpu_ticks
        return round(100 * ticks / self._ticks_per_s / age_s, 1) if age_s > 0 else None

    @property
    def reaped_percent(self) -> float | None:
        """CPU of the children that ended between the last two samples, at most one core: the rest may be older."""
        if len(self._samples) < 2:
            return None
        percent = self._percent(self._samples[-2], self._samples[-1], lambda stat: stat.reaped_ticks)
        return None if percent is None else min(100.0, percent)

    def rate(self, counter: Counter) -> float | None:
        """Units a second between the last two samples with this counter."""
        return _slope(*reversed(list(islice(_counted(reversed(self._samples), counter), 2))))

    def recent(self) -> RecentActivity | None:
        """The window in numbers; `None` before the second sample."""
        if len(self._samples) < 2:
            return None
        states = [sample.stat.state for sample in self._samples]
        blocked = {sample.details.wchan for sample in self._samples if sample.stat.state == "D" and sample.details is not None}
        delay = self._mean(lambda details: details.run_delay_ns)
        ran = self._mean(lambda details: details.main_cpu_ns)
        return RecentActivity(
            seconds=round(self._samples[-1].at - self._samples[0].at, 1),
            samples=len(states),
            running_part=_part(states, "R") if ran is None or delay is None else min(_part(states, "R"), (ran + delay) / 1e9),
            blocked_part=_part(states, "D"),
            wchan=blocked.pop() if len(blocked) == 1 else None,
            cpu_percent=self._percent(self._samples[0], self._samples[-1]),
            io_b_s=self._mean(stored),
            passed_b_s=self._mean(lambda details: details.passed_bytes),
            switches_s=self._mean(lambda details: details.switches),
            main_cpu_part=None if ran is None else round(ran / 1e9, 5),
            delay_part=None if delay is None else round(delay / 1e9, 3),
        )

    def _percent(
        self, first: Sample, last: Sample, ticks_of: Callable[[Stat], int] = lambda stat: stat.cpu_ticks
    ) -> float | None:
        seconds, ticks = last.at - first.at, ticks_of(last.stat) - ticks_of(first.stat)
        return None if seconds <= 0 else round(100 * ticks / self._ticks_per_s / seconds, 1)

    def _mean(self, counter: Counter) -> float | None:
        first = next(_counted(self._samples, counter), None)
        last = next(_counted(reversed(self._samples), counter), None)
        return None if first is None or last is None else _slope(first, last)


def _counted(samples: Iterable[Sample], counter: Counter) -> Iterator[tuple[float, int]]:
    for sample in samples:
        if sample.details is not None and (value := counter(sample.details)) is not None:
            yield sample.at, value


def stored(details: Details) -> int | None:
    """Bytes from and to storage, both ways."""
    if details.read_bytes is None or details.write_bytes is None:
        return None
    return details.read_bytes + details.write_bytes


def _slope(*ends: tuple[float, int]) -> float | None:
    if len(ends) < 2 or ends[1][0] <= ends[0][0]:
        return None
    (before, low), (after, high) = ends
    return round(max(0, high - low) / (after - before), 1)


def _part(states: list[str], letter: str) -> float:
    return round(states.count(letter) / len(states), 3)
