"""Time limits for reads that may wait for another process.

Reading `cmdline`, `environ` or `io` of a process in uninterruptible sleep can block for ever (moby#15204, NordicHPC/sonar#121,
mej/nhc#156). A thread that passes the limit is left behind with its question, which is not asked again until it has been
answered."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")

PATIENCE_S = 0.25
MAX_STUCK = 8


class Guard(Generic[Key, Answer]):
    """Runs questions one after another, each with a limit of `patience_s`. For one calling thread."""

    def __init__(self, patience_s: float = PATIENCE_S, max_stuck: int = MAX_STUCK) -> None:
        self._patience_s = patience_s
        self._max_stuck = max_stuck
        self._left_behind: dict[Key, _Round[Key, Answer]] = {}

    @property
    def stuck(self) -> frozenset[Key]:
        """The questions that are past their limit and not answered yet."""
        self._left_behind = {key: left for key, left in self._left_behind.items() if not left.over}
        return frozenset(self._left_behind)

    def ask(self, questions: Mapping[Key, Callable[[], Answer]]) -> dict[Key, Answer | OSError]:
        """The answers that came in time, an `OSError` in place of an answer. If too many are stuck, the rest is left out."""
        stuck = self.stuck
        waiting = deque((key, question) for key, question in questions.items() if key not in stuck)
        answers: dict[Key, Answer | OSError] = {}
        while waiting and len(self._left_behind) < self._max_stuck:
            asked = _Round(waiting)
            _reader().put(asked)
            late = asked.wait(self._patience_s)
            answers.update(asked.answers)
            if late is not None:
                self._left_behind[late] = asked
        return answers

    def known(self, questions: Mapping[Key, Callable[[], Answer]]) -> dict[Key, Answer]:
        """The answers that came in time, without errors."""
        return {key: answer for key, answer in self.ask(questions).items() if not isinstance(answer, OSError)}


class _Round(Generic[Key, Answer]):
    """Works off a shared queue until it is empty, or the thread is left behind."""

    def __init__(self, waiting: deque[tuple[Key, Callable[[], Answer]]]) -> None:
        self.answers: dict[Key, Answer | OSError] = {}
        self.over = False
        self._waiting = waiting
        self._lock = threading.Lock()
        self._at: tuple[Key, float] | None = None
        self._left = False
        self._ended: SimpleQueue[None] = SimpleQueue()

    def wait(self, patience_s: float) -> Key | None:
        """Returns when the queue is done (`None`), or with the question that took longer than `patience_s`."""
        while True:
            try:
                self._ended.get(timeout=patience_s / 4)
            except Empty:
                with self._lock:
                    if self._at is not None and time.monotonic() - self._at[1] > patience_s:
                        self._left = True
                        return self._at[0]
            else:
                return None

    def work(self) -> None:
        while question := self._next():
            try:
                answer: Answer | OSError = question()
            except OSError as error:
                answer = error
            with self._lock:
                if self._at is not None and not self._left:
                    self.answers[self._at[0]] = answer

    def end(self) -> None:
        self.over = True
        self._ended.put(None)

    def _next(self) -> Callable[[], Answer] | None:
        with self._lock:
            if self._left or not self._waiting:
                self._at = None
                return None
            key, question = self._waiting.popleft()
            self._at = (key, time.monotonic())
            return question


_idle: list[SimpleQueue[_Round[Any, Any]]] = []
"""Idle threads of all guards: to start a thread costs more than most rounds."""


def _reader() -> SimpleQueue[_Round[Any, Any]]:
    """The queue of an idle thread."""
    try:
        return _idle.pop()
    except IndexError:
        given: SimpleQueue[_Round[Any, Any]] = SimpleQueue()
        threading.Thread(target=_read, args=(given,), name="guarded-read", daemon=True).start()
        return given


def _read(given: SimpleQueue[_Round[Any, Any]]) -> None:
    while True:
        asked = given.get()
        try:
            asked.work()
            _idle.append(given)
        finally:
            asked.end()
        del asked  # its answers belong to who asked: an idle thread would keep those of all processes
