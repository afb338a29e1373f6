"""Runs a small program of ours in the cluster's own Python, as a child: Ray is heavy and may wait for ever."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from msgspec import Struct

from hangtop.common.clean_text import clean_text
from hangtop.probe.ray.local.start_options import environ_of_start

PROGRAMS = Path(__file__).parent / "spy"
LONGEST = 400


class RayPython(Struct, frozen=True):
    """`python`: the interpreter. `environ`: of a raylet (it may hold a token), else empty. `uid`: owner of the cluster; `None`
    when not known, and then the interpreter is our own."""

    python: str
    gcs_address: str
    environ: Callable[[], Mapping[str, str]] = dict
    uid: int | None = None

    def start(
        self, program: str, *words: str, stdin: int = subprocess.DEVNULL, stdout: int | IO[bytes], stderr: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """The child, with the GCS's address and `words` as arguments, in its own session, run as the owner of the cluster.

        Raises `OSError`, also if it would run another user's interpreter as ourselves.
        """
        if self.uid is not None and os.geteuid() not in (0, self.uid):
            raise PermissionError(1, f"the cluster is of another user (uid {self.uid}), whose Python is not run by yours")
        owner = _owner(self.uid)
        return subprocess.Popen(
            [self.python, str(PROGRAMS / program), self.gcs_address, *words],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=environ_of_start(self.environ()) or dict(os.environ),
            cwd="/",
            user=owner[0] if owner else None,
            group=owner[1] if owner else None,
            extra_groups=() if owner else None,
            start_new_session=True,
        )


def end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child with all that it started."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # our own child, not waited for yet: its pid cannot have been reused
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(1.0)


def last_words(file: IO[bytes]) -> str:
    """The last line of a child that failed: the error of a traceback."""
    file.seek(0)
    lines = [clean_text(line).strip() for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:LONGEST] if lines else "it said nothing"


def _owner(uid: int | None) -> tuple[int, int] | None:
    """User and group as which root runs the child: files that it leaves must belong to the cluster's owner."""
    if not uid or os.geteuid() != 0:
        return None
    try:
        return uid, pwd.getpwuid(uid).pw_gid
    except KeyError:  # a user id without a name, as in containers
        return uid, uid
