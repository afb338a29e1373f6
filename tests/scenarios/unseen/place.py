"""The folder of one run: the copy of the program with its kit, its log, and how it is started."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.scenarios.unseen.catalog import KIT, Program
from tests.scenarios.unseen.watch import start

LAUNCHES = ("direct", "direct", "direct", "tee", "shell")


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
        return start(argv, out, self.folder, environment)
