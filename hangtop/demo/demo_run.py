"""A demo run that was started: its folder and its log, and how it is ended without a trace.

The folder goes with hangtop; what a killed hangtop left behind, the next demo removes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from types import TracebackType
from typing import Self

from hangtop.demo import lifeline
from hangtop.demo.lifeline import Lifeline, is_cut
from hangtop.demo.scenario import DemoError, Scenario

PREFIX = "hangtop-demo-"
STOP_S = 2.0
"""So long the processes are waited for once they were killed: until then one may still write."""


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
        # A thread reaps the launcher as soon as it ends: `hangtop stop` asks whether it is gone, and a zombie is not.
        threading.Thread(target=process.wait, name="demo", daemon=True).start()
        return cls(scenario, log, process, held)

    def exit_code(self) -> int | None:
        """What the launcher exited with; `None` while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """End every process of the run, and wait until they are gone. Calling it again does nothing.

        No pid is signalled, which might be another's by now: the kernel ends whatever holds on to the lifeline.
        """
        self._lifeline.cut(STOP_S)
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


@contextmanager
def demo_folder() -> Iterator[Path]:
    """A new folder that is there as long as this is open."""
    _remove_orphaned()
    with TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _remove_orphaned() -> None:
    """Our folders in which a lifeline is cut: no pid is asked whether its hangtop lives, which might be another's by now."""
    for path in Path(gettempdir()).glob(f"{PREFIX}*/*.lifeline"):
        try:
            if path.lstat().st_uid != os.getuid():
                continue
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # gone by now, or not one of these
            continue
        try:
            if is_cut(fd):
                shutil.rmtree(path.parent, ignore_errors=True)
        finally:
            os.close(fd)
