"""The action log: what was done, when, by whom, to which process. One JSON line a step, written before it is shown."""

from __future__ import annotations

import json
import os
from pathlib import Path

from platformdirs import user_state_path

from hangtop.records.plan import Plan, Step
from hangtop.system.processes.users import Users


def path() -> Path:
    """The file of the action log."""
    return user_state_path("hangtop") / "actions.log"


class ActionLogError(Exception):
    """The log cannot be written. The message is one line: which file, and why."""


class ActionLog:
    """Appends steps. Raises `ActionLogError` when that fails: then nothing more is done at all."""

    def __init__(self) -> None:
        self._path = path()
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
