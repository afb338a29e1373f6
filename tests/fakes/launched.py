"""A launcher and its ranks as real processes, and a process source that looks at them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.processes.process_source import ProcessSource
from hangtop.records.process import Process, ProcessReading
from hangtop.records.watch_spec import WatchSpec
from tests.fakes.processes import eventually, python

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")

LAUNCHER = """
import os, signal, subprocess, sys
program, world = sys.argv[1], int(sys.argv[2])
port = sys.argv[3] if len(sys.argv) > 3 else "29500"
ranks = [
    subprocess.Popen([sys.executable, "-u", "-c", program], env=dict(os.environ, RANK=str(k), LOCAL_RANK=str(k),
                     WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=port))
    for k in range(world)
]
print("launched", flush=True)
while True:
    signal.pause()
"""

SLEEP = "import time; time.sleep(600)"

SPIN = "while True: pass"


class Watch:
    """One source and its last reading; time is moved by hand, one second a look, so that rates need no waiting."""

    def __init__(self, log: Path) -> None:
        self.context = ProbeContext(WatchSpec(logs=(str(log),)))
        self.source = ProcessSource(self.context)
        self.last = ProcessReading()

    def look(self) -> ProcessReading:
        """What is known after one more look; a look that saw nothing new tells nothing."""
        for value in self.source.read(time.time()):
            if isinstance(value, ProcessReading):
                self.last = value
        return self.last

    def until(self, seen: Callable[[ProcessReading], object], what: str = "it") -> ProcessReading:
        """Look until this is true of a reading."""
        return eventually(lambda: reading if seen(reading := self.look()) else None, what)

    def ranks(self) -> dict[int, Process]:
        return {process.rank: process for process in self.last.processes if process.role == "rank" and process.rank is not None}


@contextmanager
def launched(
    tmp_path: Path, program: str, world: int = 2, port: str = "29500"
) -> Iterator[tuple[Watch, subprocess.Popen[bytes]]]:
    """A launcher with `world` ranks that run `program`; only the launcher's output goes to the log."""
    log = tmp_path / "train.log"
    with log.open("wb") as out, python(LAUNCHER, program, str(world), port, "torch.distributed.run", stdout=out) as launcher:
        watch = Watch(log)
        watch.until(lambda reading: len(watch.ranks()) == world, f"{world} ranks")
        yield watch, launcher


def states(watch: Watch) -> dict[int, str]:
    return {rank: process.state for rank, process in watch.ranks().items()}
