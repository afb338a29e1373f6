"""Processes of other users: what may be seen, and what would grant the rest."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hangtop.records.process import ProcessReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.records.wire import decode_reading, encode
from tests.fakes.launched import SLEEP, launched, needs_root
from tests.fakes.processes import python

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")


@needs_root
def test_a_rank_of_another_user_is_shown_as_root(tmp_path: Path) -> None:
    program = "import os, time\nos.setuid(65534)\ntime.sleep(600)"
    with launched(tmp_path, program, world=1) as (watch, _):
        watch.until(lambda r: watch.ranks()[0].uid == 65534, "the other user")
        assert watch.ranks()[0].user in ("nobody", "65534")
        assert watch.ranks()[0].missing_right is None


def as_nobody(spec: WatchSpec, looks: int = 1) -> ProcessReading:
    """What hangtop sees as a user without rights after so many looks, in a process of its own."""
    looker = (
        "import os, sys, time, psutil, pwd\n"
        "from hangtop.probe.context import ProbeContext\n"
        "from hangtop.records.process import ProcessReading\n"
        "from hangtop.records.reading import Reading\n"
        "from hangtop.probe.processes.process_source import ProcessSource\n"
        "from hangtop.records.wire import decode_spec, encode\n"
        "spec = decode_spec(sys.stdin.buffer.read())\n"
        "list(ProcessSource(ProbeContext(spec)).read(time.time()))\n"  # loads its modules, which nobody may not read
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "source = ProcessSource(ProbeContext(spec))\n"
        f"told = [value for _ in range({looks}) for value in source.read(time.time()) if isinstance(value, ProcessReading)]\n"
        "sys.stdout.buffer.write(encode(Reading('procs', 'h', 1.0, told[-1])))\n"
    )
    root = Path(__file__).parents[2]
    answer = subprocess.run([sys.executable, "-c", looker], input=encode(spec), capture_output=True, check=True, cwd=root)
    reading = decode_reading(answer.stdout).value
    assert isinstance(reading, ProcessReading)
    return reading


@needs_root
def test_without_the_right_fields_are_unknown_and_the_command_that_grants_it_is_named(tmp_path: Path) -> None:
    with launched(tmp_path, SLEEP, world=1) as (watch, launcher):
        reading = as_nobody(WatchSpec(logs=(str(tmp_path / "train.log"),), pids=(launcher.pid,)), looks=2)
        rank = next(process for process in reading.processes if process.pid == watch.ranks()[0].pid)
        assert (rank.rank, rank.read_b_s, rank.wchan, rank.state, rank.uid) == (None, None, None, "S", 0)
        assert rank.missing_right == f"sudo hangtop --log {tmp_path / 'train.log'}"
        assert reading.missing_right == rank.missing_right
        assert rank.cpu_percent is not None


@needs_root
def test_a_writer_that_may_not_be_seen_is_not_taken_for_none() -> None:
    with tempfile.NamedTemporaryFile(suffix=".log") as file:  # where everybody may look
        log = Path(file.name)
        with log.open("wb") as out, python(SLEEP, stdout=out):
            reading = as_nobody(WatchSpec(logs=(str(log),)))
            assert reading.writers == ()
            assert reading.hidden >= 1
            assert (reading.note or "").startswith("sudo hangtop (or as that user) shows ")
