"""A rank that a script has stopped, and will let go on: what the text of the script tells, and what is said of the run."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.stack import Excerpt, Frame, Stack
from hangtop.records.verdict import Verdict
from hangtop.records.watched_waits import Continuer, WatchedProcess
from hangtop.stacks.continues import continues
from hangtop.system.processes.script_signals import behind_command, continues_behind
from tests.fakes.members import ALL_REDUCE, NOW, SPEC, process, run, thread
from tests.fakes.waited import waits, watch, watched

PID, SCRIPT, AT = 4321, 98, NOW - 10
PAUSES = 'f() {\n  cp a b\n}\nkill -STOP "$pid"\nfor e in 0 1; do\n  f\n  sleep 1\ndone\nkill -CONT "$pid"\necho on\n'


@pytest.mark.parametrize("place", [PAUSES.index("for"), PAUSES.index("kill -CONT"), PAUSES.index("done") + 5])
def test_a_script_that_is_before_its_command_comes_to_it(place: int) -> None:
    assert continues_behind(PAUSES, place, PID) == 'kill -CONT "$pid"'


@pytest.mark.parametrize(
    ("script", "behind"),
    [
        ("sleep 5\nkill -s CONT %1", "sleep 5"),
        ("sleep 5\nkill -18 4321", "sleep 5"),
        ("sleep 5 && pkill --signal SIGCONT -f train.py", "sleep 5"),
        ("on() { kill -CONT $p; }\nsleep 5\non", "sleep 5"),
        ("trap 'kill -CONT $p' EXIT\nsleep 5\n", "sleep 5"),
        ("while true; do kill -CONT $p; sleep 9; kill -STOP $p; sleep 5; done", "sleep 5"),
    ],
)
def test_the_words_in_which_a_script_lets_a_process_go_on(script: str, behind: str) -> None:
    assert continues_behind(script, script.index(behind) + len(behind), PID) is not None


@pytest.mark.parametrize(
    ("script", "behind"),
    [
        (PAUSES, "echo"),
        ("kill -CONT $p\nsleep 5\npython eval.py", "sleep 5"),
        ("sleep 5\nkill -STOP $p", "sleep 5"),
        ("sleep 5\nkill -CONT 4322", "sleep 5"),
        ("sleep 5\necho kill -CONT $p", "sleep 5"),
        ("on() { kill -CONT $p; }\nsleep 5\n", "sleep 5"),
        ("sleep 5\n# kill -CONT $p\n", "sleep 5"),
        ("sleep 5\ncat <<X\nkill -CONT $p\nX\n", "sleep 5"),
    ],
    ids=["it is behind it", "it did so", "another signal", "another process", "a message", "not called", "a comment", "a text"],
)
def test_a_script_that_lets_nobody_go_on(script: str, behind: str) -> None:
    assert continues_behind(script, script.index(behind) + len(behind), PID) is None


def test_what_runs_below_a_shell_tells_where_it_is() -> None:
    script = "(kill -STOP $p; sleep $rest; kill -CONT $p) &\nsleep 7 &\nwait\n"
    place = behind_command(script, ("sleep", "40"))
    assert place == script.index("; kill -CONT"), "the other one is in the background"
    assert behind_command(script, ("python", "train.py")) is None


HELPERS = """import os, signal, time
from contextlib import contextmanager
@contextmanager
def paused(pid):
    os.kill(pid, signal.SIGSTOP)
    yield
    os.kill(pid, signal.SIGCONT)
def on_continue():
    signal.signal(signal.SIGCONT, print)
"""


@pytest.mark.parametrize(
    "program",
    [
        "def copy(pid):\n    here()\n    os.kill(pid, signal.SIGCONT)",
        "try:\n    here()\nfinally:\n    child.send_signal(SIGCONT)",
        "while hot():\n    os.killpg(group, signal.SIGCONT)\n    os.killpg(group, signal.SIGSTOP)\n    here()",
        "import psutil\nhere()\npsutil.Process(7).resume()",
        "import psutil\nself.rank = psutil.Process(7)\nhere()\nself.rank.resume()",
        "with paused(7):\n    here()",
        "def go_on(pid):\n    os.kill(pid, signal.SIGCONT)\nhere()\ngo_on(7)",
    ],
)
def test_a_program_that_comes_to_let_a_process_go_on(program: str) -> None:
    source = HELPERS + program
    assert continues(source, source[: source.index("here()")].count("\n") + 1)


@pytest.mark.parametrize(
    "program",
    [
        "os.kill(7, signal.SIGCONT)\nhere()",
        "here()\nos.kill(7, signal.SIGSTOP)",
        "here()\nsignal.signal(signal.SIGCONT, print)",
        "here()\ntrainer.resume()",
        "import psutil\ntrainer = Trainer(psutil.cpu_count())\nhere()\ntrainer.resume()",
        "import psutil\np = psutil.Process(7)\np = Trainer()\nhere()\np.resume()",
        "with open(path):\n    here()",
        "def f():\n    here()\ndef g():\n    os.kill(7, signal.SIGCONT)",
        "here()\nnot python",
    ],
    ids=[
        "it did so",
        "another signal",
        "a handler",
        "no process",
        "beside psutil",
        "no process any more",
        "another with",
        "another function",
        "no program",
    ],
)
def test_a_program_that_lets_nobody_go_on(program: str) -> None:
    source = HELPERS + program
    assert not continues(source, source[: source.index("here()")].count("\n") + 1)


def said(shell: WatchedProcess, *others: WatchedProcess, silence_s: float = 14.0, stopped: int = 101) -> Verdict:
    ranks = (process(0), process(1, state="T"))
    looked = watch(watched(101, state="T"), shell, *others, at=AT, asked=(100, 101))
    looked = replace(looked, continuers=(Continuer(SCRIPT, stopped, 'kill -CONT "$pid"'),))
    return diagnose(run({0: ALL_REDUCE}, ranks, silence_s=silence_s, waits=looked), replace(SPEC, stall_s=8.0), NOW)


GOES_ON = watched(SCRIPT, waits(SCRIPT, kind="child"), woken_in=3)


def test_a_rank_that_a_script_will_let_go_on_is_alive() -> None:
    verdict = said(GOES_ON)
    assert (verdict.word, verdict.culprits) == ("slow", ())
    assert f"until `tool{SCRIPT} --x` (pid {SCRIPT}, alice), which goes on, comes to `kill -CONT" in verdict.headline


PAUSER = Frame("archive", "/home/me/archive.py", 12)


def beside(process_there: WatchedProcess, *, comes: bool = True, same_job: bool = True) -> Verdict:
    """A rank is stopped, and this one, which the same job started, stands at a line behind which it lets it go on."""
    ranks, other = (process(0), process(1, state="T")), thread(PAUSER, wait="sleep")
    looked = watch(watched(101, state="T"), process_there, at=AT, asked=(100, 101))
    looked = replace(looked, **{"beside" if same_job else "near": (SCRIPT,)})
    state = run({0: ALL_REDUCE}, ranks, silence_s=14.0, waits=looked)
    source = Excerpt(PAUSER.file, 12, ("copy()",), at=12, continues=comes)
    stack = Stack(SCRIPT, NOW - 2, (replace(other, tid=SCRIPT),), started_ticks=7)
    looks = tuple(replace(look, stacks=(*look.stacks, stack), excerpts=(source,)) for look in state.looks)
    return diagnose(replace(state, looks=looks), replace(SPEC, stall_s=8.0), NOW)


def test_a_program_beside_a_stopped_rank_may_be_the_one_that_lets_it_go_on() -> None:
    works = watched(SCRIPT, waits(SCRIPT, kind="sleep"), woken_in=3)
    verdict = beside(works)
    assert (verdict.word, verdict.culprits) == ("slow", ())
    assert "which goes on, lets it go on" in verdict.headline
    for hung in (beside(works, comes=False), beside(replace(works, woken_in=0)), beside(replace(works, state="T"))):
        assert (hung.word, [culprit.rank for culprit in hung.culprits]) == ("hung", [1])
    assert beside(works, same_job=False).word == "hung", "a stranger in the same folder lets others go on"


def test_a_script_that_stands_before_its_command_or_speaks_of_another_lets_nobody_go_on() -> None:
    stands = replace(GOES_ON, woken_in=0)
    for verdict in (said(stands), said(GOES_ON, stopped=100), said(replace(GOES_ON, state="T"))):
        assert (verdict.word, verdict.kind) == ("hung", "stopped")
        assert [culprit.rank for culprit in verdict.culprits] == [1]


def test_no_script_explains_a_pause_for_hours() -> None:
    assert said(GOES_ON, silence_s=8_000.0).word == "hung"
