"""A program that is being started shows neither arguments nor environment: nobody knows yet what it is."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.processes.process_source import ProcessSource
from hangtop.records.process import ProcessReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.files.open_files import YOUNG_S
from hangtop.system.processes.table import ProcessTable
from tests.fakes.processes import Family, python

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

RANK_AND_HANGTOP = """
import os, subprocess, sys, time
log = open(sys.argv[1], "w")
rank = dict(os.environ, RANK="0", WORLD_SIZE="1")
train = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=rank, stdout=log)
told = "import sys; print('up', flush=True); sys.stdin.read()"
pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
hangtop = subprocess.Popen(["hangtop", "-c", told], executable=sys.executable, env=dict(rank, RANK="1"), **pipes)
hangtop.stdout.readline()
print(train.pid, hangtop.pid, flush=True)
time.sleep(600)
"""


class Starting(Family):
    """Some are in the midst of their execve(2): without arguments, or still a copy of their parent."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: dict[int, tuple[str, ...]] = {}

    def command(self, pid: int) -> tuple[str, ...]:
        known = self.shown.get(pid)
        return self._real.command(pid) if known is None else known

    def environ(self, pid: int) -> Mapping[str, str]:
        return {} if self.shown.get(pid) == () else self._real.environ(pid)


class Run:
    """A rank and a hangtop beside it that the run started, and how they are seen."""

    def __init__(self, log: Path, run: subprocess.Popen[bytes]) -> None:
        assert run.stdout is not None
        self.top = run.pid
        self.train, self.hangtop = map(int, run.stdout.readline().split())
        self.table = Starting()
        self.source = ProcessSource(ProbeContext(WatchSpec(logs=(str(log),))), cast("ProcessTable", self.table))
        self.last = ProcessReading()

    def members(self, later_s: float = 0.0) -> set[int]:
        for value in self.source.read(time.time() + later_s):
            if isinstance(value, ProcessReading):
                self.last = value
        return {process.pid for process in self.last.processes}


def test_what_has_no_arguments_yet_is_no_member_until_it_says_what_it_is(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with python(RANK_AND_HANGTOP, str(log), stdout=subprocess.PIPE) as run:
        here = Run(log, run)
        here.table.shown = {here.hangtop: (), here.train: ()}
        assert here.members() == {here.top}
        here.table.shown = {}
        assert here.members() == {here.top, here.train}, "the next look asks again, though nobody came or went"


def test_what_never_tells_its_arguments_is_a_member_once_it_is_no_longer_young(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with python(RANK_AND_HANGTOP, str(log), stdout=subprocess.PIPE) as run:
        here = Run(log, run)
        here.table.shown = {here.train: ()}
        assert here.members() == {here.top}
        assert here.members(YOUNG_S + 1) == {here.top, here.train}


def test_a_copy_of_its_parent_that_becomes_a_hangtop_leaves_the_run_at_once_and_is_no_rank_that_ended(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with python(RANK_AND_HANGTOP, str(log), stdout=subprocess.PIPE) as run:
        here = Run(log, run)
        here.table.shown = {here.hangtop: (sys.executable, "-c", "as its parent")}
        assert here.members() == {here.top, here.train, here.hangtop}
        here.table.shown = {}
        assert here.members() == {here.top, here.train}
        assert not here.last.ended
