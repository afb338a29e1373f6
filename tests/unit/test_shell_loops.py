"""A shell that sleeps in a loop of its program: what its text tells, and what is said of a run that it may start again."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import cast

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.probe.processes.shell_loops import CountedShells
from hangtop.records.process import Process, ProcessReading, ShellLoop, Writer
from hangtop.records.verdict import Verdict
from hangtop.system.processes.shell_text import counts_out, loop_around_sleep, seconds_of
from hangtop.system.processes.table import ProcessTable, Stat
from tests.unit.test_author_fate import SAID
from tests.unit.test_verdict import NOW, SPEC, run

FOR_A_FILE = "until test -f data/ready; do sleep 5; done"


@pytest.mark.parametrize(
    ("program", "head"),
    [
        (f"python train.py > train.log 2>&1\n{FOR_A_FILE}\npython train.py", "until test -f data/ready"),
        ("while ! python train.py\ndo\n  sleep 5\ndone", "while ! python train.py"),
        ("while true; do python train.py && break; sleep $PAUSE; done", "while true"),
        ("for a in 1 2 3; do python train.py && break; sleep 5; done", "for a in 1 2 3"),
        ("while a; do for b in 1 2; do sleep 5; done; done", "for b in 1 2"),
        ("until test -f ready; do if true; then sleep 5; fi; done", "until test -f ready"),
    ],
)
def test_a_sleep_in_a_loop(program: str, head: str) -> None:
    loop = loop_around_sleep(program, ("5",))
    assert loop is not None
    assert loop.head == head


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("python train.py || sleep 5", id="no loop"),
        pytest.param("for a in 1 2; do python train.py; done; sleep 5", id="behind the loop"),
        pytest.param("while true; do sleep 9; done", id="another sleep"),
        pytest.param(f"{FOR_A_FILE}; python train.py; sleep 5", id="in a loop and behind it"),
        pytest.param("echo while true do sleep 5 done", id="words of a message"),
        pytest.param("# while true; do\nsleep 5\n# done", id="a comment"),
        pytest.param("while read -r line; do sleep 5", id="no end is seen"),
    ],
)
def test_a_sleep_of_which_nothing_tells_that_it_is_in_a_loop(program: str) -> None:
    assert loop_around_sleep(program, ("5",)) is None


@pytest.mark.parametrize("command", ["python t.py >>out/train.log 2>&1", "python t.py 2>&1 | tee -a out/train.log"])
def test_a_loop_writes_a_log_as_seen_from_its_folder(command: str) -> None:
    loop = loop_around_sleep(f"while ! {command}; do sleep 5; done", ("5",))
    assert loop is not None
    assert loop.writes({"/run/out/train.log"}, "/run")
    assert not loop.writes({"/run/out/train.log"}, "/elsewhere")


def test_a_loop_that_only_reads_the_log_is_a_person_who_watches_it() -> None:
    loop = loop_around_sleep("while true; do grep loss train.log | tail -1; sleep 30; done", ("30",))
    assert loop is not None
    assert not loop.writes({"/run/train.log"}, "/run")


@pytest.mark.parametrize(
    ("program", "ends"),
    [
        ("for part in $(seq 9); do sleep 1; done; touch ready", True),
        ("for ((part = 0; ; part++)); do sleep 1; done", False),
        (f"for part in a b; do {FOR_A_FILE}; done", False),
        ("python train.py", False),
    ],
)
def test_a_shell_of_which_each_loop_goes_through_a_list(program: str, ends: bool) -> None:
    assert counts_out(program) is ends


class ScriptTable:
    """Shells that run scripts in a folder; the folder of one of them lies on a file system that does not answer."""

    def __init__(self, folder: str, answers: Event, *late: int) -> None:
        self.stats = {pid: Stat(pid, "bash" if pid < 13 else "python", "S", 1, pid, pid, 7) for pid in range(10, 14)}
        self.folder, self.answers, self.late = folder, answers, late

    def command(self, pid: int) -> tuple[str, ...]:
        return ("bash", f"{pid}.sh")

    def cwd(self, pid: int) -> str:
        if pid in self.late:
            self.answers.wait()
        return self.folder


def test_the_scripts_of_shells_are_read_behind_a_time_limit(tmp_path: Path) -> None:
    for name, loop in (("10", "for part in a b"), ("11", "while true"), ("12", "for part in a b"), ("13", "for part in a b")):
        (tmp_path / f"{name}.sh").write_text(f"{loop}; do sleep 1; done\n")
    answers = Event()
    shells = CountedShells(cast("ProcessTable", ScriptTable(str(tmp_path), answers, 12)))
    try:
        assert shells.find((12, 10, 11, 13, 99)) == {10}, "one in a while, what is no shell, one that is gone, one that is late"
    finally:
        answers.set()
    at_once = CountedShells(cast("ProcessTable", ScriptTable(str(tmp_path), answers)))
    assert at_once.find((10, 12)) == {10, 12}
    (tmp_path / "10.sh").unlink()
    assert at_once.find((10, 12)) == {12}


def test_how_long_a_sleep_takes() -> None:
    assert [seconds_of(words) for words in (("45",), ("1.5m",), ("1h", "30"), ("infinity",), ())] == [
        45.0,
        90.0,
        3630.0,
        None,
        None,
    ]


SHELL = Process(70, NOW - 901, 8, 1, "bash", "bash run.sh", "S", wrote_bytes=0)
SLEEPER = Process(78, NOW - 59, 99, 70, "sleep", "sleep 90", "S", wrote_bytes=0)
LOOP = ShellLoop(70, 78, 90.0, NOW + 31, "while ! python train.py")


def said_of(silence_s: float, *processes: Process, loop: ShellLoop = LOOP) -> Verdict:
    writers = (Writer(70, NOW - 901, "bash", "bash run.sh"),)
    procs = ProcessReading(writers=writers, processes=(SHELL, SLEEPER, *processes), loops=(loop,))
    return diagnose(replace(run(silence_s, findings=(SAID,)), procs=procs), SPEC, NOW)


def test_what_failed_is_no_crash_while_the_shell_tries_again() -> None:
    verdict = said_of(130.0)
    assert (verdict.word, verdict.rule) == ("slow", "tries_again")
    assert "while ! python train.py" in verdict.headline
    assert said_of(5.0).word == "running"


def test_a_sleep_that_is_long_over_explains_nothing() -> None:
    assert said_of(130.0, loop=replace(LOOP, until=NOW - 60)).word == "crashed"


def test_a_loop_of_which_nothing_comes_for_long_is_told() -> None:
    assert said_of(5_000.0).word == "stalled"


def test_who_works_beside_the_loop_is_judged_by_what_it_does() -> None:
    busy = Process(80, NOW - 50, 100, 70, "python", "python train.py", "R", wrote_bytes=0)
    assert said_of(130.0, busy).rule != "tries_again"
