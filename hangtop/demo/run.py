"""A demo run that was started: where its log is, and how it is ended without a trace."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from hangtop.demo import lifeline
from hangtop.demo.scenario import DemoError, Scenario

STOP_S = 1.0
"""How long the launcher may take to end its ranks itself, and so long what was killed is waited for: it may still write."""
LOOK_EVERY_S = 0.01


class DemoRun:
    """Processes of one scenario, in a session of their own. Leave it (`with`), or call `stop`: nothing of it stays behind.

    `log` is the file the run writes, `pid` its launcher, which also leads the process group of all its ranks.
    """

    def __init__(self, scenario: Scenario, log: Path, process: subprocess.Popen[bytes], lifeline_fd: int) -> None:
        self.scenario = scenario
        self.log = log
        self.pid = process.pid
        self._process = process
        self._lifeline_fd: int | None = lifeline_fd

    @classmethod
    def start(cls, scenario: Scenario, folder: Path) -> Self:
        """Start the processes; their log, data and checkpoints go into `folder`. Raises `DemoError` when that cannot be."""
        log, data = folder / f"{scenario.name}.log", folder / "data"
        theirs, ours = os.pipe()
        argv = [sys.executable, "-P", "-m", "hangtop.demo.launcher", scenario.name, str(data)]
        env = {**os.environ, lifeline.ENV: str(theirs), "PYTHONUNBUFFERED": "1"}
        try:
            data.mkdir(parents=True, exist_ok=True)
            with log.open("ab") as out:
                process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env=env,
                    pass_fds=(theirs,),
                    start_new_session=True,
                )
        except OSError as error:
            os.close(ours)
            raise DemoError(f"the demo cannot start in {folder}: {error}") from error
        finally:
            os.close(theirs)
        return cls(scenario, log, process, ours)

    def exit_code(self) -> int | None:
        """What the launcher exited with; `None` while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """End every process of the run, and wait until they are gone. Calling it again does nothing.

        No pid is trusted here: the launcher is our own unreaped child, whose pid cannot have been reused, and what outlives
        it the kernel ends through the lifeline.
        """
        if self._lifeline_fd is None:
            return
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:  # stopped, or stuck: then the lifeline's SIGKILL takes it too
            pass
        finally:
            os.close(self._lifeline_fd)
            self._lifeline_fd = None
        self._process.wait()
        ends_at = time.monotonic() + STOP_S
        while _is_there(self.pid) and time.monotonic() < ends_at:
            time.sleep(LOOK_EVERY_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def _is_there(group: int) -> bool:
    """Whether a process group has members; they may be zombies that nobody reaps."""
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True
