"""One line of what an action does, with the time it is said at; and the wish to go no further, asked before each step."""

from __future__ import annotations

import signal

from hangtop.common import clock
from hangtop.common.clean_words import clean_words
from hangtop.records.plan import Step, StepKind, Target


def step(kind: StepKind, text: str, target: Target | None = None) -> Step:
    """Now. With a target also its pid and start time, for the action log. Names and paths in the text are foreign: control codes
    among them never reach the terminal."""
    pid, ticks = (None, None) if target is None else (target.pid, target.start_ticks)
    return Step(clock.now(), kind, clean_words(text), pid, ticks)


class CancelFlag:
    """Whether a person has asked to go no further. Called where the answer yes leaves something undone; `obeyed` tells of it."""

    def __init__(self) -> None:
        self.asked = False
        self.obeyed = False

    def __call__(self) -> bool:
        self.obeyed = self.obeyed or self.asked
        return self.asked

    def listen(self) -> None:
        """SIGTERM to this process asks."""
        signal.signal(signal.SIGTERM, lambda number, frame: self.ask())

    def ask(self) -> None:
        self.asked = True
