"""A healthy run told as an hour of log lines: what it prints, when, and into which file. No hangtop, no process, no real time."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

HOUR_S = 3600.0
FAIR_S = 120.0
"""A longer silence must be announced, or be the run's own pace."""
PACE = 3
"""So many earlier silences, at least half as long, make a pace."""


class Event(NamedTuple):
    """At `at` (seconds since the watch began) the run adds `text` to a file; `rotate`: or the file is put away as `FILE.1`."""

    at: float
    file: str
    text: str = ""
    rotate: bool = False


class Run:
    """The hand that writes an hour. `now`: seconds since the watch began; before 0 lies what was there already."""

    def __init__(self, begins: datetime, file: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.ended_at: float | None = None
        self.announced: list[tuple[float, float]] = []
        self._begins = begins
        self._file = file
        self._events: list[Event] = []

    @property
    def events(self) -> list[Event]:
        """All of the hour, by time."""
        return sorted((event for event in self._events if event.at <= HOUR_S), key=lambda event: event.at)

    @property
    def goes_on(self) -> bool:
        return self.now < HOUR_S

    def write(self, text: str, to: str = "") -> None:
        """Add exactly this text."""
        self._events.append(Event(self.now, to or self._file, text))

    def say(self, *lines: str, to: str = "") -> None:
        """Print lines."""
        self.write("".join(f"{line}\n" for line in lines), to)

    def rotate(self, file: str = "") -> None:
        """Somebody's logrotate: the file gets another name, and the writer opens a new one."""
        self._events.append(Event(self.now, file or self._file, rotate=True))

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def pause(self, seconds: float) -> None:
        """Work of this length, which the line just written has named, or a bar with its seconds a step."""
        since = self.now
        if self.announced and self.announced[-1][1] == since:
            since, _ = self.announced.pop()
        self.now += seconds
        self.announced.append((since, self.now))

    def finish(self, *lines: str) -> None:
        """The last lines of a run that ends well within the hour."""
        self.say(*lines)
        self.ended_at = self.now
        self.now = HOUR_S

    def time(self, form: str = "%Y-%m-%d %H:%M:%S", zone_h: float = 0.0) -> str:
        """The clock of the run, in its zone; `%ms` stands for milliseconds."""
        at = self._begins + timedelta(seconds=self.now, hours=zone_h)
        return at.strftime(form.replace("%ms", f"{at.microsecond // 1000:03d}"))

    def about(self, typical_s: float, spread: float = 0.05) -> float:
        """A lognormal time with this median."""
        return typical_s * math.exp(self.random.gauss(0.0, spread))

    def near(self, value: float, part: float = 0.03) -> float:
        """A measured value: this, more or less."""
        return value * (1.0 + self.random.uniform(-part, part))

    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def falling(self, step: int, first: float, last: float, steps: float) -> float:
        """A loss that goes down, with noise."""
        return self.near(last + (first - last) * math.exp(-step / steps))

    def unfair(self) -> Iterator[tuple[float, float]]:
        """Silences that nothing in the log explains: when they begin, and how long they are."""
        ends = [*(event.at for event in self.events), min(self.ended_at or HOUR_S, HOUR_S)]
        earlier: list[float] = []
        for begin, end in pairwise(ends):
            silence_s = end - begin
            if end > 0.0 and silence_s > FAIR_S and not self._is_told(begin, end) and not is_paced(silence_s, earlier):
                yield begin, silence_s
            earlier.append(silence_s)

    def _is_told(self, begin: float, end: float) -> bool:
        return any(since - 1.0 <= begin and end <= until + FAIR_S / 4 for since, until in self.announced)


def is_paced(silence_s: float, earlier: list[float]) -> bool:
    """Whether the run was silent for about so long before, often enough."""
    return sum(known >= silence_s / 2 for known in earlier) >= PACE


class Hour(NamedTuple):
    """One of the runs. `logs`: what hangtop is told to watch."""

    name: str
    tell: Callable[[Run], None]
    logs: tuple[str, ...]
    begins: datetime

    def told(self) -> Run:
        """The run of this hour; the same each time."""
        run = Run(self.begins, self.logs[0], sum(map(ord, self.name)))
        self.tell(run)
        return run


HOURS: dict[str, Hour] = {}


def hour(begins: str, *logs: str) -> Callable[[Callable[[Run], None]], Callable[[Run], None]]:
    """Enter a function as an hour of this name, watched from this UTC time on."""

    def enter(tell: Callable[[Run], None]) -> Callable[[Run], None]:
        name = tell.__name__
        HOURS[name] = Hour(name, tell, logs or ("train.log",), datetime.fromisoformat(begins).replace(tzinfo=UTC))
        return tell

    return enter


def tqdm(head: str, done: int, total: int, spent_s: float, tail: str = "", width: int = 10) -> str:
    """A bar as tqdm draws it, with the carriage return before it."""
    part = done / total
    full, rest = divmod(round(part * width * 8), 8)
    blocks = ("█" * full + " ▏▎▍▌▋▊▉"[rest] * (rest > 0)).ljust(width)
    left = f"{span(spent_s)}<{span(spent_s / done * (total - done)) if done else '?'}"
    pace = "?it/s" if not done else f"{done / spent_s:5.2f}it/s" if done > spent_s else f"{spent_s / done:5.2f}s/it"
    return f"\r{head}{': ' if head else ''}{part:4.0%}|{blocks}| {done}/{total} [{left}, {pace}{tail}]"


def span(seconds: float) -> str:
    """`03:12`, `1:03:12`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
