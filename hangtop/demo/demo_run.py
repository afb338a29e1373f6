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
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from hangtop.demo import lifeline
from hangtop.demo.lifeline import Lifeline, is_cut
from hangtop.demo.scenario import DemoError, Scenario

PREFIX = "hangtop-demo-"
STOP_S = 2.0
"""So long the processes are waited for once they were killed: until then one may still write."""


class DemoRun(AbstractContextManager["DemoRun", None]):
    """Processes of one scenario, in a session of their own. Leave it (`with`), or call `stop`: nothing of it stays behind,
    nor of the same run that somebody started again meanwhile.

    `log` is the file the run writes, `pid` its launcher, which also leads the process group of all its ranks.
    """

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        """Start the processes; their log, data and checkpoints go into `folder`. Raises `DemoError` when that cannot be."""
        self.scenario = scenario
        self.log = folder / f"{scenario.name}.log"
        data, held = folder / "data", None
        argv = [sys.executable, "-P", "-m", "hangtop.demo.launcher", scenario.name, str(data)]
        try:
            data.mkdir(parents=True, exist_ok=True)
            held = Lifeline(folder / f"{scenario.name}.lifeline")
            env = {**os.environ, lifeline.ENV: str(held.path), "PYTHONUNBUFFERED": "1"}
            with self.log.open("ab") as out:
                self._process = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env, start_new_session=True
                )
        except OSError as error:
            if held is not None:
                held.cut(0.0)
            raise DemoError(f"the demo cannot start in {folder}: {error}") from error
        self.pid, self._lifeline = self._process.pid, held
        # A thread reaps the launcher as soon as it ends: `hangtop stop` asks whether it is gone, and a zombie is not.
        threading.Thread(target=self._process.wait, name="demo", daemon=True).start()

    def exit_code(self) -> int | None:
        """What the launcher exited with; `None` while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """End every process of the run, and wait until they are gone. Calling it again does nothing.

        No pid is signalled, which might be another's by now: the kernel ends whatever holds on to the lifeline.
        """
        self._lifeline.cut(STOP_S)
        self._process.wait()

    def __exit__(self, *_: object) -> None:
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
