"""An hour of a run before hangtop's eyes: its files grow as they did, and every few seconds hangtop says what it thinks.

The log is the only source. The files are real, their times and hangtop's clock are those of the run.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest import mock

from hangtop.common import clock
from hangtop.monitor.monitor import Monitor
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.reading import Reading
from hangtop.records.verdict import STATES, VerdictWord
from hangtop.state.run_state import fold
from tests.fakes.log_session import Session
from tests.scenarios.hours.run import HOUR_S, Event, Hour

LOOK_S = 5
"""Of the run's own clock. The screen looks more often; an alarm that comes and goes within five seconds is not seen here."""
MOST_READS = 200
"""A look reads until it has caught up: at most so many times."""


class Said(NamedTuple):
    """What was said in one look."""

    at: float
    word: VerdictWord
    headline: str


class Alarm(NamedTuple):
    """Trouble was said from `at` on, for so long."""

    at: float
    seconds: float
    word: VerdictWord
    headline: str


class Watched(NamedTuple):
    """A whole hour. `ended_at`: when the run finished, if it did."""

    name: str
    said: tuple[Said, ...]
    ended_at: float | None

    def seconds(self, word: VerdictWord) -> int:
        return sum(LOOK_S for look in self.said if look.word == word)

    @property
    def alarms(self) -> list[Alarm]:
        """Each time that trouble was said, by its first word and headline."""
        found: list[Alarm] = []
        troubled = False
        for look in self.said:
            if not STATES[look.word].trouble:
                troubled = False
                continue
            last = found.pop() if troubled else Alarm(look.at, 0.0, look.word, look.headline)
            found.append(last._replace(seconds=last.seconds + LOOK_S))
            troubled = True
        return found

    @property
    def finished_early_s(self) -> int:
        """Seconds for which a run was called finished that was not."""
        ended_at = HOUR_S + 1 if self.ended_at is None else self.ended_at
        return sum(LOOK_S for look in self.said if look.word == "finished" and look.at < ended_at)

    @property
    def changes(self) -> list[float]:
        """When the word became another."""
        return [after.at for before, after in pairwise(self.said) if before.word != after.word]

    @property
    def worst_minute(self) -> int:
        """The most changes within a minute."""
        return max((sum(at <= other < at + 60 for other in self.changes) for at in self.changes), default=0)


class Files:
    """The files of a run, which grow by its events and bear the times of its clock."""

    def __init__(self, place: Path, events: list[Event], begins: float) -> None:
        self._place = place
        self._left = iter(events)
        self._next = next(self._left, None)
        self._begins = begins

    def up_to(self, at: float) -> None:
        """Write all that the run had written by then."""
        while self._next is not None and self._next.at <= at:
            self._write(self._next)
            self._next = next(self._left, None)

    def _write(self, event: Event) -> None:
        path = self._place / event.file
        if event.rotate:
            path.replace(f"{path}.1")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(event.text.encode())
        os.utime(path, (self._begins + event.at,) * 2)


def replay(hour: Hour, until_s: int = int(HOUR_S)) -> Watched:
    """Watch this hour, or so much of it."""
    run, begins = hour.told(), hour.begins.timestamp()
    said: list[Said] = []
    with TemporaryDirectory() as place, mock.patch.object(clock, "now") as now:
        now.return_value = begins
        files = Files(Path(place), run.events, begins)
        files.up_to(0.0)
        session = Session(*(Path(place, log) for log in hour.logs))
        monitor = Monitor(session.spec)
        try:
            for at in range(0, until_s + 1, LOOK_S):
                now.return_value = begins + at
                files.up_to(at)
                look(session)
                monitor.look(session.state, begins + at)
                said.append(Said(at, monitor.verdict.word, monitor.verdict.headline))
        finally:
            session.source.close()
    return Watched(hour.name, tuple(said), run.ended_at)


def look(session: Session) -> None:
    """Read all there is to read now."""
    for _ in range(MOST_READS):
        session.read()
        session.readings.clear()
        if session.state.log is None or session.state.log.caught_up:
            break
    beat = Heartbeat((SourceHealth("log", read_at=clock.now()),))
    session.state = fold(session.state, Reading("log", "here", clock.now(), beat))
