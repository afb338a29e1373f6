"""Who writes a log that nobody holds open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hangtop.records.process import ProcessReading
from hangtop.sources.proc.likely import Clue, choose
from hangtop.sources.processes import ProcessSource
from hangtop.spec import WatchSpec
from tests.fakes.processes import eventually

LINES = "import sys, time\nwhile True:\n    with open(sys.argv[1], 'a') as log: log.write('step\\n')\n    time.sleep(0.2)"
LOG = "/data/run7/train.log"


@contextmanager
def writing(log: Path) -> Iterator[int]:
    run = subprocess.Popen([sys.executable, "-c", LINES, log.name], cwd=log.parent, start_new_session=True)
    try:
        eventually(log.exists, "the first line")
        yield run.pid
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def test_a_log_that_is_opened_for_each_line_has_the_process_whose_command_line_names_it(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with writing(log) as pid:
        source = ProcessSource(WatchSpec(logs=(str(log),)))
        readings = [value for value in source.read(time.time()) if isinstance(value, ProcessReading)]
        assert [process.pid for process in readings[0].processes] == [pid]
        assert readings[0].writers == () or readings[0].writers[0].pid == pid


def everyone(pids: object) -> list[int]:
    return sorted(pids)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(
    ("command", "cwd", "why"),
    [
        (("python", "a.py", "--log", LOG), "/home", "its command line names the log"),
        (("python", "a.py", "--log=train.log"), "/data/run7", "its command line names the log"),
        (("python", "a.py", "--out", "run7"), "/data", "its command line names the log's folder"),
        (("python", "a.py"), "/data/run7", "it trains in the log's folder"),
        (("python", "train.py"), "/data", "it trains in the log's folder"),
        (("python", "server.py"), "/data", None),
        (("python", "train.py"), "/", None),
        (("python", "-m", "tensorboard.main", "--logdir", "/data/run7"), "/data", None),
    ],
)
def test_what_a_process_was_started_with_tells_its_log(command: tuple[str, ...], cwd: str, why: str | None) -> None:
    assert choose({7: Clue(command, cwd)}, {LOG}, everyone) == ({7: why} if why else {})


def test_two_programs_in_one_folder_are_not_told_apart() -> None:
    clues = {7: Clue(("python", "a.py"), "/data/run7"), 8: Clue(("python", "b.py"), "/data/run7")}
    assert choose(clues, {LOG}, everyone) == {}


ORPHANED = (
    "import os, subprocess, sys\n"
    "quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}\n"
    "rank = dict(os.environ, RANK='1', WORLD_SIZE='2')\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], env=rank, **quiet)\n"
    "print(child.pid)"
)
"""A launcher that dies before its rank."""


def test_a_rank_that_outlived_its_launcher_points_at_the_log_where_it_works(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    started = subprocess.run([sys.executable, "-c", ORPHANED], cwd=tmp_path, capture_output=True, text=True, check=True)
    pid = int(started.stdout)
    try:
        time.sleep(0.1)
        log.write_text("step 1\n")
        spec = WatchSpec(logs=(str(log),))
        (reading,) = [value for value in ProcessSource(spec).read(time.time()) if isinstance(value, ProcessReading)]
        assert pid in {*reading.pointing, *reading.taken}
    finally:
        os.kill(pid, signal.SIGKILL)
