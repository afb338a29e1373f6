"""Run one command to its end, within a deadline: it has a session of its own, no input, and is ended with all that it started."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hangtop.actions.execute.child import end_group
from hangtop.actions.execute.steps import CancelFlag

POLL_S = 0.1


class CommandRun(NamedTuple):
    """A command that ended. `code`: its exit code, `None` when we ended it. `printed`: its lines, without blank ones."""

    code: int | None
    printed: list[str]
    took_s: float


def run_command(
    argv: Sequence[str],
    within_s: float,
    *,
    halt: CancelFlag | None = None,
    output: str | None = None,
    cwd: str | None = None,
    env: Mapping[bytes, bytes] | None = None,
) -> CommandRun:
    """Run it. `halt` ends it early. `output`: the file that takes its stdout instead of `printed`. Raises `OSError`."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as printed, open(output or os.devnull, "wb") as file:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=file if output else printed,
            stderr=printed,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
        while (code := child.poll()) is None:
            if (halt is not None and halt.asked) or time.monotonic() > began + within_s:
                end_group(child)
                break
            time.sleep(POLL_S)
        lines = os.pread(printed.fileno(), 1 << 20, 0).decode(errors="replace").splitlines()
    return CommandRun(code, [line.strip() for line in lines if line.strip()], time.monotonic() - began)
