"""One line of what an action does, with its time; and the flag that a person wants no further step."""

from __future__ import annotations

import signal

from hangtop.common import clock
from hangtop.common.clean_words import clean_words
from hangtop.records.plan import Step, StepKind, Target


def step(kind: StepKind, text: str, target: Target | None = None) -> Step:
    """A step with the time of now, and with the pid and start time of its target for the action log. Control codes in foreign
    names and paths are taken out."""
    pid, ticks = (None, None) if target is None else (target.pid, target.start_ticks)
    return Step(clock.now(), kind, clean_words(text), pid, ticks)


class CancelFlag:
    """Whether a person wants no further step. Call it only where yes leaves something undone: `obeyed` records that."""

    def __init__(self) -> None:
        self.asked = False
        self.obeyed = False

    def __call__(self) -> bool:
        self.obeyed = self.obeyed or self.asked
        return self.asked

    def listen(self) -> None:
        """SIGTERM to this process sets the flag."""
        signal.signal(signal.SIGTERM, lambda number, frame: self.ask())

    def ask(self) -> None:
        self.asked = True
