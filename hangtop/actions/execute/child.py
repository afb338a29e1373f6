"""A module of hangtop as a child that outlives us: told one record on stdin, it answers in JSON lines on stdout."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import IO

import msgspec

from hangtop.system.hangtop_child import start_hangtop
from hangtop.system.memory import unnamed_memory

_begun: list[subprocess.Popen[bytes]] = []
"""Those that still work: kept, for Python warns of a forgotten child, and asyncio would kill one whose transport is closed."""


def begin(module: str, told: msgspec.Struct) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """`python -m MODULE` in a session of its own, and its stdout. The record goes through memory without a name: a pipe
    could fill up and hold us, and a temporary folder may be full. Raises `OSError`."""
    with os.fdopen(unnamed_memory(0), "w+b") as record:
        record.write(msgspec.json.encode(told))
        record.seek(0)
        child = start_hangtop(module, stdin=record, stdout=subprocess.PIPE)
    assert child.stdout is not None
    _begun[:] = [other for other in _begun if other.poll() is None]
    _begun.append(child)
    return child, child.stdout


def end_group(child: subprocess.Popen[bytes]) -> None:
    """KILL to it and to what it started: our own child, not yet waited for, so that its group is still its own."""
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
