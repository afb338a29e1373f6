"""Who writes a log that nobody holds open."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from hangtop.records.process import ProcessReading
from hangtop.sources.proc.likely import Clue, choose
from hangtop.sources.processes import ProcessSource
from hangtop.spec import WatchSpec
from tests.fakes.processes import eventually, running

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


def probable(log: Path) -> list[int]:
    """Who is taken for the writer of this log, in one look."""
    (reading,) = [
        value for value in ProcessSource(WatchSpec(logs=(str(log),))).read(time.time()) if isinstance(value, ProcessReading)
    ]
    assert reading.writers == ()
    return list(reading.taken)


READS = "import sys, time; log = open(sys.argv[1]); print(flush=True); time.sleep(600)"
SLEEPS = "import time; print(flush=True); time.sleep(600)"


@contextmanager
def started(*argv: str, folder: Path, out: Path | None = None) -> Iterator[int]:
    """A program in this folder, once it has said a line, to us or into a file of its own."""
    with ExitStack() as stack:
        stdout = subprocess.PIPE if out is None else stack.enter_context(out.open("wb"))
        run = stack.enter_context(running(sys.executable, "-u", "-c", *argv, cwd=folder, stdout=stdout))
        if out is not None:
            eventually(lambda: out.stat().st_size, "its first line")
        elif run.stdout is not None:
            run.stdout.readline()
        yield run.pid


def test_who_reads_the_log_that_its_command_line_names_is_not_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1\n")
    with started(READS, "train.log", folder=tmp_path):
        log.write_text("step 2\n")
        assert probable(log) == []


def test_a_run_in_the_same_folder_with_a_log_of_its_own_is_not_taken_for_the_writer_of_an_old_one(tmp_path: Path) -> None:
    log = tmp_path / "old.log"
    with started(SLEEPS, folder=tmp_path, out=tmp_path / "new.log"):
        log.write_text("step 1\n")
        assert probable(log) == []
    with started(SLEEPS, folder=tmp_path) as pid:
        log.write_text("step 2\n")
        assert probable(log) == [pid], "the only program of the folder, and its output goes elsewhere"


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_terminal_multiplexer_that_was_started_to_watch_the_log_is_not_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1\n")
    tmux = ("tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null")
    subprocess.run([*tmux, "new-session", "-d", f"tail -f {log}"], check=True, cwd=tmp_path)
    try:
        log.write_text("step 2\n")
        assert probable(log) == []
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


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
