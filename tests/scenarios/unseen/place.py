"""The folder of one run: the copy of the program with its kit, its log, and how it is started."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from tests.scenarios.unseen.catalog import KIT, Program
from tests.scenarios.unseen.watch import end_all

LAUNCHES = ("direct", "direct", "direct", "tee", "shell")
"""How a run may be started; more often as itself than below a shell."""
START_S = 240.0
"""By then a run is warm, and its fault has come: a choice, long enough for a busy machine."""


@dataclass(frozen=True)
class Place:
    """Where one run lies. `control` is apart, so that nothing of it is near the log."""

    program: Program
    folder: Path
    control: Path

    @property
    def log(self) -> Path:
        return self.folder / self.program.log

    @property
    def source(self) -> Path:
        return self.folder / "src" / self.program.path.name

    def fill(self, text: str, plan: dict[str, object]) -> None:
        """Put the changed program there, and the kit with its plan."""
        self.source.parent.mkdir()
        self.source.write_text(text, encoding="utf-8")
        if "runtools" in text:
            for tool in KIT.glob("*.py"):
                shutil.copy(tool, self.source.parent)
            told = {"control": str(self.control), "folder": str(self.folder), **plan}
            (self.source.parent / "runtools.json").write_text(json.dumps(told), encoding="utf-8")

    def begin(self, launch: str = "direct", steps: int | None = None) -> subprocess.Popen[bytes]:
        """Start the run."""
        argv = [sys.executable, str(self.source), "--folder", str(self.folder)]
        if steps is not None:
            argv += ["--steps", str(steps)]
        out = self.folder / "launcher.out" if self.program.writes_own_log else self.log
        if launch == "tee" and not self.program.writes_own_log:
            argv = ["bash", "-c", f"set -o pipefail; {shlex.join(argv)} 2>&1 | tee -a {self.log}"]
            out = self.folder / "terminal.txt"
        elif launch == "shell":
            argv = ["bash", "-c", f"{shlex.join(argv)} >> {out} 2>&1; code=$?; exit $code"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        with out.open("ab") as file:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=environment,
                start_new_session=True,
            )


@contextmanager
def place_for(program: Program) -> Iterator[Place]:
    """Folders for one run of this program. At the end all that this process has begun is killed, then they are removed.

    Only for a process that may reap, and begins nothing but runs.
    """
    with (
        turn(program),
        TemporaryDirectory(prefix="run-") as folder,
        TemporaryDirectory(prefix="ctl-") as control,
    ):
        try:
            yield Place(program, Path(folder), Path(control))
        finally:
            end_all()


@contextmanager
def turn(program: Program) -> Iterator[None]:
    """Of programs that disturb each other only one runs on a machine: it waits until no other has the lock."""
    if program.lock is None:
        yield
        return
    with (Path(gettempdir()) / program.lock).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
