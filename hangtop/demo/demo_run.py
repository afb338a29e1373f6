"""A demo run that was started: where its log is, and how it is ended without a trace."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from hangtop.demo import lifeline
from hangtop.demo.lifeline import Lifeline
from hangtop.demo.scenario import DemoError, Scenario

STOP_S = 1.0
"""How long the launcher may take to end its ranks itself, and so long what was killed is waited for: it may still write."""


class DemoRun:
    """Processes of one scenario, in a session of their own. Leave it (`with`), or call `stop`: nothing of it stays behind,
    nor of the same run that somebody started again meanwhile.

    `log` is the file the run writes, `pid` its launcher, which also leads the process group of all its ranks.
    """

    def __init__(self, scenario: Scenario, log: Path, process: subprocess.Popen[bytes], held: Lifeline) -> None:
        self.scenario = scenario
        self.log = log
        self.pid = process.pid
        self._process = process
        self._lifeline = held
        self._reaping = threading.Lock()

    @classmethod
    def start(cls, scenario: Scenario, folder: Path) -> Self:
        """Start the processes; their log, data and checkpoints go into `folder`. Raises `DemoError` when that cannot be."""
        log, data = folder / f"{scenario.name}.log", folder / "data"
        argv = [sys.executable, "-P", "-m", "hangtop.demo.launcher", scenario.name, str(data)]
        held: Lifeline | None = None
        try:
            data.mkdir(parents=True, exist_ok=True)
            held = Lifeline(folder / f"{scenario.name}.lifeline")
            env = {**os.environ, lifeline.ENV: str(held.path), "PYTHONUNBUFFERED": "1"}
            with log.open("ab") as out:
                process = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env, start_new_session=True
                )
        except OSError as error:
            if held is not None:
                held.cut(0.0)
            raise DemoError(f"the demo cannot start in {folder}: {error}") from error
        demo = cls(scenario, log, process, held)
        threading.Thread(target=demo._reap, name="demo", daemon=True).start()
        return demo

    def _reap(self) -> None:
        """Reap the launcher as soon as it ends: a stop asks whether it is gone, and a zombie is not. Its pid is given away by
        that, so never while a signal is on its way to it."""
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            self._process.wait()
            return
        with suppress(ChildProcessError):  # reaped by `exit_code`
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with self._reaping:
            self._process.wait()

    def exit_code(self) -> int | None:
        """What the launcher exited with; `None` while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """End every process of the run, and wait until they are gone. Calling it again does nothing.

        No pid is trusted here: the launcher is our own child, which nobody reaps while it is signalled, so that its pid cannot
        have been reused; and what outlives it the kernel ends through the lifeline.
        """
        with self._reaping:
            if self._process.poll() is None:
                self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:  # stopped, or stuck: then the lifeline's SIGKILL takes it too
            pass
        finally:
            self._lifeline.cut(STOP_S)
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
