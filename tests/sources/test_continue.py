"""Real processes that were stopped go on again, and what became of each is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from hangtop.actions.execute.executor import execute
from hangtop.records.plan import Plan, Step, Target
from hangtop.system.processes.open_table import open_table
from tests.fakes.processes import PATIENCE_S, eventually
from tests.sources.test_stop import WILLING, kinds, python, target

STOPS_AGAIN = """
import os, signal, time
signal.signal(signal.SIGCONT, lambda *_: os.kill(os.getpid(), signal.SIGSTOP))
print(flush=True); time.sleep(600)
"""


def stopped(pid: int) -> Target:
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: target(pid).state == "T")
    return target(pid)


def continued(*targets: Target) -> list[Step]:
    return list(execute(Plan("continue", "Continue", targets, signal="SIGCONT"), open_table()))


def test_a_stopped_process_lives_on_and_its_neighbour_stays_stopped() -> None:
    with python(WILLING) as (chosen, _), python(WILLING) as (neighbour, _):
        beside = stopped(neighbour.pid)
        steps = continued(stopped(chosen.pid))
        assert kinds(steps, chosen.pid) == ["doing", "proof"]
        assert target(chosen.pid).state == "S"
        assert target(neighbour.pid) == beside


def test_one_that_is_stopped_again_is_no_proof() -> None:
    with python(STOPS_AGAIN) as (restless, _):
        steps = continued(stopped(restless.pid))
        assert kinds(steps, restless.pid) == ["doing", "failed"]
        assert "is stopped" in steps[-1].text


def test_a_pid_that_is_another_s_now_gets_no_signal() -> None:
    with python(WILLING) as (other, _):
        before = stopped(other.pid)
        earlier = Target(before.pid, before.start_ticks - 1, before.started_at, before.command, before.state)
        assert [step.text for step in continued(earlier) if "its pid belongs to another process now" in step.text]
        assert target(other.pid).state == "T"


@pytest.mark.parametrize(("words", "state"), [((), "T"), (("--yes",), "S")])
def test_the_command_shows_its_plan_and_carries_it_out_only_with_yes(words: tuple[str, ...], state: str) -> None:
    with python(WILLING) as (run, _):
        stopped(run.pid)
        argv = [sys.executable, "-m", "hangtop", "continue", "--pid", str(run.pid), *words]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert (done.returncode, target(run.pid).state) == (0, state), done.stdout + done.stderr
        assert "CONT, once." in done.stdout
