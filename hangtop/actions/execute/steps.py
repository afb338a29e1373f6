"""The steps of an action: each with its time, the flag that a person wants no further one, and the action log, written and read.

The log says what was done, when, by whom, to which process: one JSON line a step, written before it is shown.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from hangtop.common import clock
from hangtop.common.clean_words import clean_words
from hangtop.records.plan import Plan, Step, StepKind, Target
from hangtop.system.own_folders import state_folder
from hangtop.system.processes.users import Users


def step(kind: StepKind, text: str, target: Target | None = None) -> Step:
    """A step of now, with pid and start time of its target. Control codes in foreign names and paths are taken out."""
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


def log_path() -> Path:
    """The file of the action log."""
    return state_folder() / "actions.log"


def logged_bytes() -> int:
    """The length of the action log by now; 0 where there is none."""
    try:
        return log_path().stat().st_size
    except OSError:
        return 0


def tells_of(title: str, behind_bytes: int) -> bool | None:
    """Whether the action log has a step of a plan of this title behind that many bytes; `None` where it cannot be read, or is
    shorter by now. Whatever a plan does is written there before it is done."""
    try:
        with log_path().open("rb") as file:
            if os.fstat(file.fileno()).st_size < behind_bytes:
                return None
            file.seek(behind_bytes)
            return any(_is_of(line, title) for line in file)
    except FileNotFoundError:
        return None if behind_bytes else False
    except OSError:
        return None


def _is_of(line: bytes, title: str) -> bool:
    """A line that is cut off may be of any plan."""
    try:
        return bool(json.loads(line)["action"] == title.encode(errors="replace").decode())
    except (ValueError, KeyError, TypeError):
        return True


class ActionLogError(Exception):
    """The log cannot be written. The message is one line: which file, and why."""


class ActionLog:
    """Appends steps. Raises `ActionLogError` when that fails: then nothing more is done at all."""

    def __init__(self) -> None:
        self._path = log_path()
        self._by = Users().name(os.getuid())
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            raise ActionLogError(f"{error.filename}: {error.strerror}") from error

    def write(self, plan: Plan, step: Step) -> None:
        told = {"at": step.at, "by": self._by, "action": plan.title, "kind": step.kind, "text": step.text}
        if step.pid is not None:
            told |= {"pid": step.pid, "start_ticks": step.start_ticks}
        try:
            os.write(self._fd, json.dumps(told, ensure_ascii=False).encode(errors="replace") + b"\n")
        except OSError as error:
            raise ActionLogError(f"{self._path}: {error.strerror}") from error
