"""A rank that a script has stopped, and will let go on: what the text of the script tells, and what is said of the run."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.verdict import Verdict
from hangtop.records.watched_waits import Continuer, WatchedProcess
from hangtop.system.processes.script_signals import behind_command, continues_behind
from tests.fakes.members import ALL_REDUCE, NOW, SPEC, process, run
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


def test_a_script_that_stands_before_its_command_or_speaks_of_another_lets_nobody_go_on() -> None:
    stands = replace(GOES_ON, woken_in=0)
    for verdict in (said(stands), said(GOES_ON, stopped=100), said(replace(GOES_ON, state="T"))):
        assert (verdict.word, verdict.kind) == ("hung", "stopped")
        assert [culprit.rank for culprit in verdict.culprits] == [1]


def test_no_script_explains_a_pause_for_hours() -> None:
    assert said(GOES_ON, silence_s=8_000.0).word == "hung"
