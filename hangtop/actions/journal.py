"""The action log: what was done, when, by whom, to which process. One JSON line a step, written before it is shown."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

from platformdirs import user_state_path

from hangtop.records.plan import Plan, Step


def path() -> Path:
    """Where it lies."""
    return user_state_path("hangtop") / "actions.log"


def _who() -> str:
    """By name where this user has one: in a container often only the number is known."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


class Journal:
    """Appends. Raises `OSError` when the log cannot be written: then nothing is done at all."""

    def __init__(self, at: Path | None = None) -> None:
        self._path = at or path()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, plan: Plan, step: Step) -> None:
        told = {"at": step.at, "by": _who(), "action": plan.title, "kind": step.kind, "text": step.text}
        if step.pid is not None:
            told |= {"pid": step.pid, "start_ticks": step.start_ticks}
        os.write(self._fd, json.dumps(told, ensure_ascii=False).encode() + b"\n")
