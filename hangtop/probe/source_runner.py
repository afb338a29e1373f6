"""Runs one source in a thread of its own: it reads, answers questions in between, and always knows its health.

Every question ends with an `AskEnd`, after all parts of its answer or with a problem in words. Questions of different types do
not displace each other. A read that fails or finds nothing does not keep a source from answering: the answer may be there all the
same.

A source that only answers is loaded with its first question: six of them are a tenth of what `hangtop check` costs, which seldom
asks. A watch that lasts loads them soon, while the file system on which hangtop lies still answers."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterable
from typing import NamedTuple

from hangtop.common import clock
from hangtop.common.text import duration
from hangtop.probe.source import Absent, Source, SourceError
from hangtop.probe.without_secrets import SecretFilter
from hangtop.records.ask import Ask, AskEnd, PageAsk, kind_of
from hangtop.records.health import SourceHealth
from hangtop.records.reading import Value

LOOK_AGAIN_S = (1.0, 2.0, 5.0, 10.0)
"""Pauses after a read that failed or found nothing."""
PATIENCE_S = 60.0
"""A question without any part of an answer for this long ends: the source hangs. Late parts are still sent."""
ONLY_LATEST: frozenset[type[Ask]] = frozenset({PageAsk})
"""Types of question of which only the newest counts: the answer to an older one stops between two parts."""
MOST_ALIKE = 4
"""Questions of one type that may wait: the screen and the verdict both ask for stacks."""
LOADED_AFTER_S = 3.0
"""A source that only answers is loaded then at the latest."""
DISPLACED = "a newer question took its place"

Send = Callable[[str, Value], None]


class Waiting(NamedTuple):
    """A question, and since when no part of its answer came."""

    ask: Ask
    since: float


class Questions:
    """The questions of one source: some wait, one is being answered. For two threads. Times are monotonic."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Waiting] = []
        self._answered: Waiting | None = None

    def put(self, ask: Ask, now: float) -> list[AskEnd]:
        """Add a question; returns the ends of those that it displaces."""
        with self._lock:
            alike = [waiting for waiting in self._waiting if type(waiting.ask) is type(ask)]
            displaced = alike[: max(0, len(alike) + 1 - (1 if type(ask) in ONLY_LATEST else MOST_ALIKE))]
            self._waiting = [*(waiting for waiting in self._waiting if waiting not in displaced), Waiting(ask, now)]
        return [_end(waiting.ask, DISPLACED) for waiting in displaced]

    def next(self, now: float) -> Ask | None:
        """The question that waits longest, to be answered now."""
        with self._lock:
            self._answered = Waiting(self._waiting.pop(0).ask, now) if self._waiting else None
            return None if self._answered is None else self._answered.ask

    def is_displaced(self, ask: Ask) -> bool:
        """Whether a newer question of its type makes this one void."""
        return type(ask) in ONLY_LATEST and any(type(waiting.ask) is type(ask) for waiting in self._waiting)

    def part_sent(self, now: float) -> None:
        """A part of the answer was sent."""
        with self._lock:
            if self._answered is not None:
                self._answered = Waiting(self._answered.ask, now)

    def end(self, ask: Ask, problem: str | None) -> AskEnd | None:
        """The end of a question, if it was not told before."""
        with self._lock:
            known, self._answered = self._answered, None
        return None if known is None else _end(ask, problem)

    def overdue(self, why: str, now: float) -> list[AskEnd]:
        """The ends of questions that have waited too long."""
        with self._lock:
            late = [waiting for waiting in self._waiting if now - waiting.since >= PATIENCE_S]
            self._waiting = [waiting for waiting in self._waiting if waiting not in late]
            if self._answered is not None and now - self._answered.since >= PATIENCE_S:
                late.append(self._answered)
                self._answered = None
        return [_end(waiting.ask, why) for waiting in late]


def _end(ask: Ask, problem: str | None) -> AskEnd:
    return AskEnd(ask.ask, kind_of(ask), problem)


class SourceThread(threading.Thread):
    """Reads every `interval_s`. `opened` opens the source, in this thread. `send` gets each value with the name of the source.
    `only_answers`: it reads nothing by itself."""

    def __init__(self, name: str, opened: Callable[[], Source], send: Send, *, only_answers: bool = False) -> None:
        super().__init__(name=name, daemon=True)
        self._opened = opened
        self._send = send
        self._only_answers = only_answers
        self._questions = Questions()
        self._filter = SecretFilter()
        self._wake = threading.Event()
        self.told = threading.Event()
        """Set once the source has told something, or that it cannot."""
        self._source: Source | None = None
        self._busy_since: float | None = None
        self._deadline_s = 3.0
        self._read_at: float | None = None
        self._problem: str | None = None
        self._absent: str | None = None
        self._failures = 0

    def ask(self, ask: Ask) -> None:
        """Queue a question."""
        for displaced in self._questions.put(ask, time.monotonic()):
            self._send(self.name, displaced)
        self._wake.set()

    def health(self) -> SourceHealth:
        since = self._busy_since
        busy_s = 0.0 if since is None else time.monotonic() - since
        return SourceHealth(self.name, self._read_at, round(busy_s, 1), self._deadline_s, self._problem, self._absent)

    def give_up(self) -> None:
        """End the questions that have waited too long. Called by another thread, since this one hangs."""
        busy_s = self.health().busy_s
        why = f"no answer within {duration(PATIENCE_S)}: the {self.name} source is busy for {duration(busy_s)}"
        for end in self._questions.overdue(why, time.monotonic()):
            self._send(self.name, end)

    def run(self) -> None:
        if self._only_answers:
            self._read_at = clock.now()
            self._wake.wait(LOADED_AFTER_S)
        while True:
            self._wake.clear()
            self._busy_since = time.monotonic()
            pause_s = self._read()
            while (ask := self._questions.next(time.monotonic())) is not None:
                if (end := self._questions.end(ask, self._answer(ask))) is not None:
                    self._send(self.name, end)
            self._busy_since = None
            self._wake.wait(clock.until_next(pause_s, least_s=pause_s / 2))

    def _read(self) -> float:
        """Read once; returns the pause before the next read."""
        try:
            self._source = self._source or self._opened()
            self._deadline_s = self._source.deadline_s
            self._emit(self._source.read(clock.now()))
        except Absent as absent:
            return self._failed(absent=str(absent))
        except SourceError as trouble:
            return self._failed(problem=str(trouble))
        except Exception as error:
            return self._failed(problem=self._crash(error))
        self._read_at, self._problem, self._absent, self._failures = clock.now(), None, None, 0
        return self._source.interval_s

    def _answer(self, ask: Ask) -> str | None:
        """Answer a question; returns the problem, if there is one."""
        if self._source is None:
            return self._problem or self._absent
        try:
            self._emit(self._source.answer(ask, clock.now()), ask)
        except (Absent, SourceError) as why:
            return str(why)
        except Exception as error:
            return self._crash(error)
        return None

    def _emit(self, values: Iterable[Value], ask: Ask | None = None) -> None:
        for value in values:
            self._send(self.name, self._filter.value(value))
            self.told.set()
            self._busy_since = time.monotonic()
            self._questions.part_sent(self._busy_since)
            if ask is not None and self._questions.is_displaced(ask):
                return

    def _crash(self, error: Exception) -> str:
        traceback.print_exc()
        return f"hangtop's {self.name} source failed: {type(error).__name__}: {error}"

    def _failed(self, problem: str | None = None, absent: str | None = None) -> float:
        self._problem, self._absent = problem, absent
        self.told.set()
        pause_s = LOOK_AGAIN_S[min(self._failures, len(LOOK_AGAIN_S) - 1)]
        self._failures += 1
        return pause_s
