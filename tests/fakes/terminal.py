"""A person's shell on a terminal of its own: bash with job control, into which a test types lines."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.fakes.processes import eventually, running

needs_terminal = shutil.which("script") is not None and shutil.which("bash") is not None

JOB = "import sys, time; open(sys.argv[1], 'w').close(); print('step 1', flush=True); time.sleep(600)"
"""A program of a job, up once the file exists that its first word names; its other words only show in its command line."""
STEP_DAEMON = "import subprocess, sys; subprocess.run(['script', '-qf', sys.argv[1]])"


class Terminal:
    """`process`: what keeps the terminal. `shell`: the pid of the shell in it."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._process, self._folder, self._jobs = process, folder, 0
        self.shell = 0

    def type(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def job(self, words: str = "train.py") -> int:
        """Start a job in the background; its pid once it is up."""
        self._jobs += 1
        up, pid = self._folder / f"up{self._jobs}", self._folder / f"pid{self._jobs}"
        self.type(f"{sys.executable} -c {shlex.quote(JOB)} {up} {words} & echo $! > {pid}")
        eventually(up.exists, "the job")
        return int(eventually(lambda: pid.read_text().strip() if pid.exists() else "", "its pid"))


@contextmanager
def terminal(folder: Path, log: str | Path = "/dev/null", *, under: str | None = None) -> Iterator[Terminal]:
    """`log`: what script(1) writes down. `under`: the title of a process that keeps the terminal, such as Slurm's step daemon."""
    environ = {**os.environ, "SHELL": shutil.which("bash") or "bash", "HOME": str(folder), "HISTFILE": "/dev/null"}
    keeper = ("script", "-qf", str(log))
    argv = ("bash", "-c", f'exec -a "{under}" {sys.executable} -c "$STEP_DAEMON" {log}') if under else keeper
    given = {**environ, "STEP_DAEMON": STEP_DAEMON}
    with running(*argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=given) as process:
        made = Terminal(process, folder)
        made.type(f"echo $$ > {folder}/shell")
        said = folder / "shell"
        made.shell = int(eventually(lambda: said.read_text().strip() if said.exists() else "", "a shell"))
        try:
            yield made
        finally:
            with suppress(ProcessLookupError):
                os.kill(made.shell, signal.SIGHUP)  # it passes it on to its jobs
