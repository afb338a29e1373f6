"""Starts the drain of a pipe (`hangtop.probe.log.drain`)."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

from hangtop.common.reaper import reap_later
from hangtop.probe.log import drain
from hangtop.system.hangtop_child import debug_file
from hangtop.system.memory import unnamed_memory

PYTHON = ("HOME", "LANG", "LD_LIBRARY_PATH", "LC_ALL", "PATH", "PYTHONHOME", "SYSTEMROOT")
"""What an interpreter may need to start. No more: variables of the job would make the drain look like a part of the run."""
READS_WITHIN_S = 30.0
"""An interpreter takes 20 ms to start; on a machine that is stuck much longer."""


class Drain:
    """A started drain. It keeps what comes in `memory`, an open file, until `close` or our end, and then reads on alone until the
    writer ends. `problem`: why there is no memory; it reads all the same."""

    def __init__(self, pipe: int, *, named: bool = False) -> None:
        """The pipe is the drain's when this returns, whatever becomes of us. Raises `OSError`."""
        self.problem: str | None = None
        try:
            self.memory = unnamed_memory(drain.BOARD_BYTES + drain.KEPT_BYTES)
        except OSError as error:
            self.problem = error.strerror or str(error)
            self.memory = os.open(os.devnull, os.O_RDWR)
        theirs, self._lifeline = os.pipe()
        try:
            self._process = self._started(pipe, theirs, (drain.NAMED,) if named else ())
        except OSError:  # no more processes for this user: a named pipe is tried again and again
            os.close(self._lifeline)
            os.close(self.memory)
            raise
        finally:
            os.close(theirs)
        self._reads: bool | None = None
        self._left = False

    def _started(self, pipe: int, theirs: int, flags: Sequence[str]) -> subprocess.Popen[bytes]:
        command = (sys.executable, "-S", "-s", "-P", drain.__file__, str(theirs), str(self.memory), *flags)
        with debug_file() as stderr:
            return subprocess.Popen(
                command,
                stdin=pipe,
                stdout=subprocess.PIPE,
                stderr=stderr,
                pass_fds=(theirs, self.memory),
                start_new_session=True,
                env={name: os.environ[name] for name in PYTHON if name in os.environ},
            )

    def reads(self) -> bool:
        """Whether it has begun to read. Waits for that; false when it could not start."""
        if self._reads is None:
            assert self._process.stdout is not None
            with self._process.stdout as said:
                ready, _, _ = select.select([said], [], [], READS_WITHIN_S)
                self._reads = bool(ready) and os.read(said.fileno(), 1) == drain.READY
        return self._reads

    def close(self) -> None:
        """Leave it alone with the pipe."""
        if self._left:
            return
        self._left = True
        if self._process.stdout is not None:
            self._process.stdout.close()
        os.close(self._lifeline)
        os.close(self.memory)
        reap_later(self._process)


class DrainBoard(NamedTuple):
    """What a drain tells (`hangtop.probe.log.drain.BOARD`)."""

    end: int
    unkept: int
    closed: int
    arrived_us: int
    reader: int


def read_board(memory: int) -> DrainBoard | None:
    """The board of a drain; `None` without memory, or when it was given back."""
    data = os.pread(memory, drain.BOARD.size, 0)
    return DrainBoard(*drain.BOARD.unpack(data)) if len(data) == drain.BOARD.size else None
