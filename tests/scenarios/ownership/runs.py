"""Ada's runs in a room, one for each row's need: started by a shell, in a folder of its own, with what stands beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.fakes.ray_cluster import wait_for
from tests.scenarios.ownership import crowd
from tests.scenarios.ownership.case import Run, Scene
from tests.scenarios.ownership.rooms import USERS, as_user, environ_of

PROGRAMS = Path(__file__).parent / "programs"
LONG_S = 60.0
"""Silence that does not come about here: a run of this limit is only looked at while it writes."""
SHOWN_BYTES = 600
"""More than the lines typed and their echo."""
UP_S = 300.0
"""Bound of a start; longer than that is a hang."""


class LiveRun:
    """A run that was started. `key` marks its processes."""

    def __init__(self, key: str, run: Run, scene: Scene) -> None:
        self.key, self.run = key, run
        self.folder = Path("/tmp/runs", key)
        self.folder.mkdir(parents=True)
        shutil.copy(PROGRAMS / "training.py", self.folder / "train.py")
        os.chown(self.folder, as_user("ada")["user"], -1)  # type: ignore[arg-type]
        own = f"MATRIX_RUN={key}"
        self._beside: dict[str, str] = {}
        if run.terminal:
            self._beside[f"{key}-shell"] = "a terminal"
            lines = [f"cd {self.folder}", *(line.replace("$RUN", f"{own} {run.command}") for line in run.terminal)]
            name, user = ("slurmstepd: [4711.0]", "root") if run.slurm else ("sshd: ada@pts/1", "ada")
            program = ["bash", "-c", 'exec -a "$0" python "$@"', name, str(PROGRAMS / "terminal.py"), *lines]
            ada = environ_of("ada")
            home = [f"{word}={ada[word]}" for word in ("HOME", "USER", "LOGNAME")]
            shell(["env", f"MATRIX_RUN={key}-shell", f"TERMINAL_UID={USERS['ada']}", *home, *program], self.folder, user)
        else:
            output = "" if run.bare else f" > {run.log} 2>&1 < /dev/null"
            command = run.command if run.bare else f"exec {run.command}"
            shell(["env", own, "bash", "-c", command + output], self.folder, "ada")

        wait_for(self.log.exists, UP_S)
        for number, words in enumerate(scene.beside):
            user, _, line = words.partition(": ")
            self._beside[f"{key}-beside-{number}"] = words
            shell(["env", f"MATRIX_RUN={key}-beside-{number}", "bash", "-c", line], self.folder, user)

    @property
    def log(self) -> Path:
        return self.folder / self.run.log

    def texts(self) -> Iterator[tuple[float, str]]:
        """When each of its logs was last written, and what it says."""
        for path in sorted(self.log.iterdir()) if self.log.is_dir() else [self.log]:
            if path.exists():
                yield path.stat().st_mtime, path.read_text(errors="replace")

    def pids(self) -> set[int]:
        return crowd.own(self.key, crowd.beings())

    def size(self) -> int:
        """Bytes of its log."""
        return self.log.stat().st_size if self.log.is_file() else 0

    def actors(self) -> set[int]:
        """The pids of its Ray actors, as it told them."""
        told = self.folder / "pids"
        return {int(line) for line in told.read_text().split()} if told.exists() else set()

    def wait(self) -> None:
        """Until it may be looked at: it said what it should, has been silent for its limit, or has ended."""
        run = self.run
        wait_for(lambda: any(run.ready in text for _, text in self.texts()), UP_S)
        marked = {being.run for being in crowd.beings().values()}
        gone = [words for mark, words in self._beside.items() if mark not in marked]
        assert not gone, f"these should be here: {gone}"
        if run.floods:
            wait_for(self._screen_is_up, UP_S)
        elif run.terminal:
            wait_for(self._shell_is_busy, UP_S)
        if run.ends:
            wait_for(lambda: not self.pids(), UP_S)
        if run.stall_s < LONG_S:
            wait_for(lambda: all(time.time() - written > run.stall_s + 1 for written, _ in self.texts()), UP_S)

    def _screen_is_up(self) -> bool:
        """Hangtop reads, and has shown something."""
        screen = self.folder / "screen"
        shown = screen.stat().st_size if screen.exists() else 0
        return (shown > SHOWN_BYTES or "--plain" in self.run.command) and len(crowd.looking(crowd.beings())) > 1

    def _shell_is_busy(self) -> bool:
        """The editor and the second run are there, as they should."""
        return (self.folder / "other.log").exists() and any(self.folder.glob(".notes*"))

    def end(self) -> None:
        """The run and what was started beside it."""
        here = crowd.beings()
        crowd.end(crowd.own(self.key, here, self._beside))


def shell(words: list[str], folder: Path, user: str, mark: str | None = None) -> None:
    """Start this as a user's shell would, and let go of it: its parent ends at once."""
    options = as_user(user)
    environ = {**options["env"], "STRANGER": str(PROGRAMS / "stranger.py"), "PROGRAMS": str(PROGRAMS)}  # type: ignore[dict-item]
    if mark:
        environ["MATRIX_RUN"] = mark
    null = subprocess.DEVNULL
    detached = ["setsid", "--fork", *words]
    subprocess.run(detached, check=True, cwd=folder, stdin=null, stdout=null, stderr=null, **{**options, "env": environ})  # type: ignore[call-overload]
