"""Runs a small program of ours in the cluster's own Python, as a child: Ray is heavy and may wait for ever."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from hangtop.common.clean_text import clean_text
from hangtop.probe.ray.local.daemons import DaemonStart
from hangtop.probe.ray.local.start_options import environ_of_start

PROGRAMS = Path(__file__).parent / "spy"
MARK = b"hangtop "
"""Begins the lines that are an answer: Ray may print lines of its own."""
LONGEST = 400


class ChildError(Exception):
    """A child could not be started. The message says why."""


class RayPython(Struct, frozen=True):
    """`python`: the interpreter. `raylet`: how a raylet was started, whose environment may hold a token. `uid`: owner of the
    cluster; `None` when not known, and then the interpreter is our own."""

    python: str
    gcs_address: str
    raylet: DaemonStart = DaemonStart()
    uid: int | None = None

    def start(self, program: str, *words: str, stdin: bytes = b"") -> RayChild:
        """The child, with the GCS's address and `words` as arguments, in a session of its own, as the owner of the cluster.

        Raises `ChildError`, also where that would run another user's interpreter as ourselves.
        """
        if self.uid is not None and os.geteuid() not in (0, self.uid):
            why = f"the cluster is of another user (uid {self.uid}), whose Python is not run by yours"
            raise ChildError(f"{self.python}: {why}")
        owner = _as_owner(self.uid)
        with ExitStack() as files:
            given, said, complaints = (files.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            given.write(stdin)
            given.seek(0)
            try:
                process = subprocess.Popen(
                    [self.python, str(PROGRAMS / program), self.gcs_address, *words],
                    stdin=given,
                    stdout=said,
                    stderr=complaints,
                    env=environ_of_start(self.raylet.environ) or ({} if owner else dict(os.environ)),  # another user reads it
                    cwd="/",
                    start_new_session=True,
                    **owner,
                )
            except OSError as error:
                raise ChildError(f"{self.python}: {error.strerror or error}") from None
            return RayChild(process, said, complaints, files.pop_all())


class RayChild:
    """A program at work. Its output goes to files, so that no pipe can fill while nobody reads."""

    def __init__(self, process: subprocess.Popen[bytes], said: IO[bytes], complaints: IO[bytes], files: ExitStack) -> None:
        self._process, self._said, self._complaints, self._files = process, said, complaints, files
        self._read_bytes = 0

    def has_ended(self, wait_s: float = 0.0) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(wait_s)
        return self._process.returncode is not None

    @property
    def failed(self) -> bool:
        return bool(self._process.returncode)

    def answers(self) -> Iterator[bytes]:
        """The answers since the last call, a line each."""
        size = os.fstat(self._said.fileno()).st_size  # by offset: the child writes at the place that a seek would move
        whole, end, _ = os.pread(self._said.fileno(), size - self._read_bytes, self._read_bytes).rpartition(b"\n")
        self._read_bytes += len(whole) + len(end)
        return (line.removeprefix(MARK) for line in whole.split(b"\n") if line.startswith(MARK))

    def last_words(self) -> str:
        """The last line that it said before it failed: the error of a traceback."""
        self._complaints.seek(0)
        lines = [clean_text(line).strip() for line in self._complaints.read().decode("utf-8", "replace").splitlines()]
        return next((line[:LONGEST] for line in reversed(lines) if line), "it said nothing")

    def end(self) -> None:
        """Kill it with all that it started, if it still runs."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # our own child, not waited for yet: its pid cannot have been reused
        self.has_ended(1.0)
        self._files.close()


def _as_owner(uid: int | None) -> dict[str, Any]:
    """How root runs the child: files that it leaves must belong to the cluster's owner."""
    if not uid or os.geteuid() != 0:
        return {}
    try:
        group = pwd.getpwuid(uid).pw_gid
    except KeyError:  # a user id without a name, as in containers
        group = uid
    return {"user": uid, "group": group, "extra_groups": ()}
