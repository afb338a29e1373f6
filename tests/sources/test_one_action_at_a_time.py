"""Two hands on one run: of two restarts one starts it, and nothing is started beside a copy of itself. Real processes."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from hangtop.actions.execute.executor import execute
from hangtop.actions.execute.lock import HeldError, locked
from hangtop.actions.plans import restart_plan
from hangtop.actions.plans.stop_plan import stop_plan as stop_plan
from hangtop.probe.context import ProbeContext
from hangtop.probe.processes.launch_source import LaunchSource
from hangtop.probe.processes.process_source import ProcessSource
from hangtop.records.ask import LaunchAsk
from hangtop.records.launch import LaunchReading
from hangtop.records.plan import OwnProcess, Plan, Step
from hangtop.records.process import ProcessReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from hangtop.system.processes.open_table import open_table
from hangtop.system.stores import launch_store
from tests.fakes.processes import PATIENCE_S, end_group, eventually

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="locks as Linux tells them, /proc")

PROGRAM = "import os, time; print('begun', os.getpid(), flush=True); time.sleep(600)"
HOLD = """
import sys, time, msgspec
from hangtop.actions.execute.lock import locked
from hangtop.records.plan import Plan
with locked(msgspec.json.decode(sys.argv[1], type=Plan)):
    print(flush=True)
    time.sleep(600)
"""
SUPERVISOR = """
import subprocess, sys, psutil
old = psutil.Process(int(sys.argv[1]))
print(flush=True)
old.wait()
subprocess.Popen([sys.executable, "-c", sys.argv[3], "another word"], stdout=open(sys.argv[2], "a"), start_new_session=True)
"""
ME = OwnProcess(os.getpid(), frozenset({os.getppid()}), os.geteuid())


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    """A log; every process that ever wrote its pid there is killed at the end."""
    path = tmp_path / "train.log"
    yield path
    for pid in copies(path):
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    eventually(lambda: not copies(path), "the end of every copy")


@contextmanager
def running(log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The run as a person starts it by hand."""
    with log.open("ab") as output:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=output, cwd=log.parent, start_new_session=True)
    try:
        eventually(lambda: f"begun {process.pid}" in log.read_text(), "its first line")
        yield process
    finally:
        end_group(process)


def copies(log: Path) -> list[int]:
    """Pids that said in the log that they began, and live."""
    table = open_table()
    table.refresh(())
    begun = [int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("begun ")] if log.exists() else []
    living = (table.stats.get(pid) for pid in begun)
    return [stat.pid for stat in living if stat is not None and stat.state not in "ZX" and stat.session == stat.pid]


def planned(log: Path) -> Plan:
    """The plan to restart what writes this log now, or wrote it last."""
    spec = WatchSpec(logs=(str(log),))
    source = ProcessSource(ProbeContext(spec))
    readings = [value for value in source.read(time.time()) if isinstance(value, ProcessReading)]
    state = RunState(procs=readings[-1] if readings else ProcessReading())
    (told,) = LaunchSource(ProbeContext(spec)).answer(restart_plan.launch_ask(state, 1), time.time())
    assert isinstance(told, LaunchReading)
    made = restart_plan.restart_plan(state, told, ME, None, (str(log),))
    assert isinstance(made, Plan), made
    return made


def told(steps: list[Step]) -> str:
    return "\n".join(f"{step.kind}: {step.text}" for step in steps)


def nothing_done(steps: list[Step]) -> bool:
    return not any(word in step.text for step in steps for word in ("SIGTERM", "SIGKILL", "starting "))


def test_of_two_restarts_at_once_one_starts_it(log: Path) -> None:
    with running(log) as old:
        words = [sys.executable, "-m", "hangtop", "restart", "--log", str(log), "--yes"]
        both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)]
        said = [process.communicate(timeout=PATIENCE_S)[0] for process in both]
        assert old.wait(PATIENCE_S) == -signal.SIGTERM
    alive = eventually(lambda: copies(log), "the new run")
    done = [" is started, attempt" in text for text in said]
    assert len(alive) == 1, said
    assert [process.returncode for process in both].count(0) == sum(done), said
    if sum(done) == 2:  # the second came when the first was through, and restarted that one's run
        assert any("attempt 3" in text for text in said), said


def test_the_second_hand_is_told_who_holds_the_run_and_does_nothing(log: Path) -> None:
    with running(log) as old:
        plan = planned(log)
        holder = subprocess.Popen([sys.executable, "-c", HOLD, msgspec.json.encode(plan)], stdout=subprocess.PIPE)
        assert holder.stdout is not None
        with holder.stdout:
            holder.stdout.readline()
            source = ProcessSource(ProbeContext(WatchSpec(logs=(str(log),))))
            readings = [value for value in source.read(time.time()) if isinstance(value, ProcessReading)]
            stop = stop_plan(RunState(procs=readings[-1]), ME)
            assert isinstance(stop, Plan)
            for other in (plan, stop, replace(plan, targets=())):
                steps = list(execute(other, open_table()))
                assert [step.kind for step in steps] == ["failed"]
                assert f"another hangtop (pid {holder.pid}) is at work on this run" in steps[0].text
            holder.kill()
            holder.wait(PATIENCE_S)
        assert old.poll() is None
        with locked(plan):  # a killed holder holds nothing
            pass


def test_a_lock_is_of_one_run_alone(log: Path) -> None:
    with running(log):
        plan = planned(log)
    assert plan.start is not None
    other = replace(plan, targets=(), start=replace(plan.start, log=f"{log}.other"))
    linked = log.with_name("linked.log")
    log.touch()
    linked.hardlink_to(log)
    same = replace(plan, targets=(), start=replace(plan.start, log=str(linked)))
    script = "import sys, msgspec; from hangtop.actions.execute.lock import *; from hangtop.records.plan import Plan\n"
    script += "try:\n with locked(msgspec.json.decode(sys.argv[1], type=Plan)): print('free')\nexcept HeldError: print('held')"
    with locked(plan):
        answers = [
            subprocess.run([sys.executable, "-c", script, msgspec.json.encode(action)], capture_output=True, check=True).stdout
            for action in (plan, other, same)
        ]
    assert answers == [b"held\n", b"free\n", b"held\n"]
    assert issubclass(HeldError, Exception)


def test_where_the_disk_of_the_state_knows_no_locks_another_place_is_taken(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(log):
        plan = planned(log)
    real, refused = fcntl.lockf, list[int]()

    def without(fd: int, *more: int) -> None:
        if str(tmp_path) in os.readlink(f"/proc/self/fd/{fd}"):
            refused.append(fd)
            raise OSError(errno.ENOSYS, "Function not implemented")
        real(fd, *more)

    monkeypatch.setattr(fcntl, "lockf", without)
    with locked(plan):
        assert refused


def test_a_run_that_ended_after_the_plan_is_not_started_again_unasked(log: Path) -> None:
    with running(log):
        plan = planned(log)
    steps = list(execute(plan, open_table()))
    assert "has ended since the plan was made" in told(steps)
    assert nothing_done(steps)
    again = planned(log)  # looked at again, it may be started: the plan knows that it has ended
    assert again.targets == ()
    steps = list(execute(again, open_table()))
    assert steps[-1].kind == "proof", told(steps)
    assert len(copies(log)) == 1


def test_an_ended_run_is_not_started_beside_a_newer_start_of_it(log: Path) -> None:
    with running(log):
        planned(log)
    first, second = planned(log), planned(log)
    assert list(execute(first, open_table()))[-1].kind == "proof"
    steps = list(execute(second, open_table()))
    assert "attempt 2 of this run, was started" in told(steps)
    assert len(copies(log)) == 1


def test_an_ended_run_is_not_started_beside_a_copy_that_was_started_by_hand(log: Path) -> None:
    with running(log):
        planned(log)
    plan = planned(log)
    with running(log) as other:
        steps = list(execute(plan, open_table()))
        assert f"pid {other.pid} (python" in told(steps)
        assert "the run seems to live" in told(steps)
        assert nothing_done(steps)
        assert copies(log) == [other.pid]


def test_a_run_taken_for_dead_that_lives_is_not_started(log: Path) -> None:
    with running(log) as old:
        plan = planned(log)
        assert plan.start is not None
        assert plan.start.repeats is not None
        wrong = replace(plan, targets=(), start=replace(plan.start, repeats=replace(plan.start.repeats, lives=False)))
        steps = list(execute(wrong, open_table()))
        assert f"pid {old.pid} was taken to have ended, and lives" in told(steps)


def test_a_copy_that_began_to_write_during_the_stop_is_not_doubled(log: Path) -> None:
    """A supervisor of the person's own starts it in another session, with another command line: only the log tells."""
    with running(log) as old:
        plan = planned(log)
        words = [sys.executable, "-c", SUPERVISOR, str(old.pid), str(log), PROGRAM]
        with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as supervisor:
            assert supervisor.stdout is not None
            supervisor.stdout.readline()
            steps = []
            for step in execute(plan, open_table()):
                steps.append(step)
                if step.text.endswith("ended"):
                    old.wait(PATIENCE_S)  # we are its parent: only now is it gone for its supervisor
                    eventually(lambda: len(copies(log)) == 1, "the copy")
        assert "nothing was started" in told(steps)
        assert len(copies(log)) == 1
        assert launch_store.latest(str(log)).attempt == 1


def test_what_is_asked_of_a_run_without_a_start_names_the_way(tmp_path: Path) -> None:
    (told,) = LaunchSource(ProbeContext(WatchSpec(logs=(str(tmp_path / "x.log"),)))).answer(LaunchAsk(1), time.time())
    assert isinstance(told, LaunchReading)
    assert told.problem is not None
