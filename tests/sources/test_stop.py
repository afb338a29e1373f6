"""Stopping real processes: those that ignore TERM, that a supervisor starts again, whose pid is another's now."""

from __future__ import annotations

import fcntl
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from hangtop.actions.execute import terminate
from hangtop.actions.execute.executor import execute
from hangtop.actions.execute.signals import VerifiedProcess
from hangtop.actions.execute.steps import ActionLog, ActionLogError
from hangtop.records.plan import Plan, Step, Target
from hangtop.system.processes.linux import read_stat
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import ProcessTable, Stat
from tests.fakes.processes import PATIENCE_S

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
WILLING = "import time; print(flush=True); time.sleep(600)"
SUPERVISOR = f"""
import signal, subprocess, sys
signal.signal(signal.SIGTERM, lambda *_: None)  # ignored it would be by its children too
while True:
    child = subprocess.Popen([sys.executable, "-c", {WILLING!r}], stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    child.wait()
"""


@contextmanager
def python(code: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process of its own session, and its first line; whatever it leaves is killed by its group."""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout is not None
    try:
        yield child, child.stdout.readline().strip()
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait(PATIENCE_S)
        child.stdout.close()


def target(pid: int) -> Target:
    table = open_table()
    table.refresh((pid,))
    stat = table.stats[pid]
    while not (command := table.command(pid)):  # for an instant after exec it has none
        time.sleep(0.01)
    return Target(pid, stat.start_ticks, table.started_at(stat.start_ticks), " ".join(command), stat.state)


def stop(*targets: Target, grace_s: float = 5.0) -> list[Step]:
    return list(execute(Plan("stop", "Stop the run", targets, grace_s=grace_s), open_table()))


def kinds(steps: list[Step], pid: int) -> list[str]:
    return [step.kind for step in steps if step.pid == pid]


def test_a_willing_process_ends_by_term_and_a_stubborn_one_by_kill() -> None:
    with python(WILLING) as (willing, _), python(STUBBORN) as (stubborn, _):
        steps = stop(target(willing.pid), target(stubborn.pid))
        assert [step.text.split()[0] for step in steps if step.kind == "doing"] == ["SIGTERM", "SIGTERM", "SIGKILL"]
        assert kinds(steps, willing.pid) == ["doing", "done"]
        assert kinds(steps, stubborn.pid) == ["doing", "doing", "done"]
        assert f"parent pid {os.getpid()} does not reap" in steps[-2].text
        assert steps[-1].kind == "proof"
        assert (willing.wait(PATIENCE_S), stubborn.wait(PATIENCE_S)) == (-signal.SIGTERM, -signal.SIGKILL)


def test_a_pid_that_is_another_process_now_gets_no_signal() -> None:
    with python(WILLING) as (child, _):
        known = target(child.pid)
        stranger = Target(known.pid, known.start_ticks - 1, known.started_at, known.command, known.state)
        steps = stop(stranger)
        assert [step.kind for step in steps if step.pid == child.pid] == ["skipped"]
        assert "belongs to another process now" in steps[0].text
        assert child.poll() is None


@pytest.mark.parametrize("pid", [0, 1, os.getpid(), os.getppid()], ids=["kernel", "init", "hangtop", "its parent"])
def test_pid_1_and_hangtop_itself_are_never_signalled(pid: int) -> None:
    steps = stop(Target(pid, 1, 0.0, "x", "S"))
    assert [step.kind for step in steps if step.kind == "doing"] == []


def test_a_process_of_another_user_is_refused_at_the_last_moment() -> None:
    with python(WILLING) as (child, _), pytest.raises(LookupError, match="belongs to another user"):
        VerifiedProcess(target(child.pid), open_table(), frozenset(), uid=os.geteuid() + 1)


class Reused:
    """A table in which a pid changes hands after the first look."""

    def __init__(self, real: ProcessTable, pid: int) -> None:
        self._real, self._pid, self._looks = real, pid, 0

    @property
    def stats(self) -> Mapping[int, Stat]:
        from msgspec.structs import replace

        stats = dict(self._real.stats)
        if self._looks > 1:
            stats[self._pid] = replace(stats[self._pid], start_ticks=stats[self._pid].start_ticks + 500)
        return stats

    def refresh(self, watched: object) -> None:
        self._looks += 1
        self._real.refresh(watched)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)


def test_a_run_of_more_processes_than_select_has_descriptors_is_followed_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    most, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
    if ceiling != resource.RLIM_INFINITY and ceiling < 2_048:
        pytest.skip("needs 2,048 open files")
    opened = os.pidfd_open

    def after_a_thousand(pid: int) -> int:
        fd = opened(pid)
        try:
            return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 1_500)
        finally:
            os.close(fd)

    monkeypatch.setattr(os, "pidfd_open", after_a_thousand)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(most, 2_048), ceiling))
    try:
        with python(WILLING) as (child, _):
            assert [step.kind for step in stop(target(child.pid)) if step.pid == child.pid] == ["doing", "done"]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, ceiling))


def test_without_pidfd_the_start_time_is_read_again_before_each_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    with python(WILLING) as (child, _):
        aim = VerifiedProcess(target(child.pid), Reused(open_table(), child.pid), frozenset(), os.geteuid())  # type: ignore[arg-type]
        with pytest.raises(LookupError, match="another process now"):
            aim.send(signal.SIGTERM)
        time.sleep(0.1)
        assert child.poll() is None


def test_a_stopped_process_is_continued_so_that_term_reaches_it() -> None:
    with python(WILLING) as (child, _):
        os.kill(child.pid, signal.SIGSTOP)
        while (stopped := target(child.pid)).state != "T":
            time.sleep(0.01)
        steps = stop(stopped, grace_s=30.0)
        assert kinds(steps, child.pid) == ["doing", "done"]
        assert child.wait(PATIENCE_S) == -signal.SIGTERM


def test_a_supervisor_outside_the_plan_that_starts_it_again_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminate, "RESTARTED_WITHIN_S", PATIENCE_S)
    with python(SUPERVISOR) as (supervisor, first):
        steps = stop(target(int(first)))
        survived = [step for step in steps if step.kind == "survived"]
        assert len(survived) == 1
        assert re.search(rf"pid {supervisor.pid} \(python[\d.]*\) restarts it; stop that first", survived[0].text)


SLOW_TO_EXEC = f"""
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: None)
while True:
    if (pid := os.fork()) == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        time.sleep(1)  # so long it is a copy of its parent
        os.execv(sys.executable, [sys.executable, "-c", {WILLING!r}])
    time.sleep(2)
    print(pid, flush=True)
    os.waitpid(pid, 0)
"""


def test_one_that_is_first_seen_as_a_copy_of_its_supervisor_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every new process is a copy of its parent for a moment; on a busy machine that moment is seen."""
    monkeypatch.setattr(terminate, "RESTARTED_WITHIN_S", PATIENCE_S)
    with python(SLOW_TO_EXEC) as (supervisor, first):
        steps = stop(target(int(first)))
        assert [f"pid {supervisor.pid} (" in step.text for step in steps if step.kind == "survived"] == [True]


FORKS_AT_TERM = """
import os, signal, sys, time
def child():
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        {middle}
        os.write(1, f"{{os.getpid()}}\\n".encode())  # the signal may have come while "up" was being written
        time.sleep(600)
def leave(*_):
    child()
    time.sleep({stays})
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
print("up", flush=True)
time.sleep(600)
"""
DOUBLE = "os.fork() and os._exit(0)"


def alive(pid: int) -> bool:
    stat = read_stat(pid)
    return stat is not None and stat.state not in "ZX"


def test_what_a_stubborn_launcher_starts_again_during_the_grace_ends_with_it() -> None:
    with python(SUPERVISOR) as (supervisor, first):
        steps = stop(target(int(first)), target(supervisor.pid), grace_s=1.0)
        assert supervisor.stdout is not None
        ranks = [int(line) for line in supervisor.stdout]
        assert ranks, "it had the time to start one more"
        assert not any(map(alive, ranks))
        assert [step.kind for step in steps if step.kind in ("survived", "proof")] == ["proof"]
        assert f"came meanwhile (pid {supervisor.pid} started it) and ends too" in " ".join(step.text for step in steps)


@pytest.mark.parametrize(
    "middle", ["pass", "os.setsid()", DOUBLE, f"os.setsid(); {DOUBLE}"], ids=["fork", "setsid", "twice", "daemon"]
)
@pytest.mark.parametrize("stays", [0, 0.3], ids=["at once", "later"])
def test_what_a_handler_of_term_starts_ends_too(middle: str, stays: float) -> None:
    with python(FORKS_AT_TERM.format(middle=middle, stays=stays)) as (rank, _):
        steps = stop(target(rank.pid), grace_s=5.0)
        assert rank.stdout is not None
        (child,) = [int(line) for line in rank.stdout.read().split()]
        assert not alive(child)
        assert steps[-1].kind == "proof", steps


def test_the_performer_goes_on_when_the_screen_goes_away_and_the_log_tells_all(tmp_path: Path) -> None:
    import msgspec

    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    with python(STUBBORN) as (child, _):
        plan = Plan("stop", "Stop the run: 1 process", (target(child.pid),), grace_s=1.0)
        performer = subprocess.Popen(
            [sys.executable, "-m", "hangtop.actions.execute.executor"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            start_new_session=True,
        )
        assert performer.stdin is not None
        assert performer.stdout is not None
        performer.stdin.write(msgspec.json.encode(plan))
        performer.stdin.close()
        performer.stdout.readline()
        performer.stdout.close()
        assert performer.wait(PATIENCE_S) == 0
        assert child.wait(PATIENCE_S) == -signal.SIGKILL
    told = [json.loads(line) for line in (tmp_path / "hangtop" / "actions.log").read_text().splitlines()]
    assert [entry["kind"] for entry in told] == ["doing", "doing", "done", "done", "proof"]
    assert all(entry["pid"] == child.pid and entry["start_ticks"] for entry in told[:3])


def test_nothing_is_done_when_the_action_log_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(ActionLogError, match=r"Not a directory|File exists"):
        ActionLog()


FREEZER = Path("/sys/fs/cgroup/freezer")
DAEMONISES = """
import os, signal, sys, time
def flee(*_):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(sys.argv[1], "w") as said:
                said.write(f"{os.getpid()} ")
            os.closerange(0, 64)
            os.execve("/bin/sleep", ("sleep", "600"), {})
        os._exit(0)
    os._exit(0)
signal.signal(signal.SIGTERM, flee)
print(flush=True)
time.sleep(600)
"""


@contextmanager
def control_group() -> Iterator[Path]:
    """One that is empty at first. All in it are ended."""
    folder = FREEZER / f"hangtop-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        yield folder
    finally:
        end = time.monotonic() + PATIENCE_S
        while (left := (folder / "cgroup.procs").read_text().split()) and time.monotonic() < end:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.05)
        folder.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes control groups")
def test_what_leaves_all_behind_but_the_control_group_of_the_run_is_ended_or_named(tmp_path: Path) -> None:
    said = tmp_path / "pid"
    with control_group() as group:
        process = subprocess.Popen([sys.executable, "-c", DAEMONISES, str(said)], stdout=subprocess.PIPE, start_new_session=True)
        (group / "cgroup.procs").write_text(str(process.pid))
        assert process.stdout is not None
        process.stdout.readline()
        steps = stop(target(process.pid), grace_s=2.0)
        process.wait(PATIENCE_S)
        process.stdout.close()
        pid = int(said.read_text())
        named = [step.text for step in steps if f"pid {pid} came meanwhile" in step.text]
        assert named, steps
        assert not alive(pid) or [step for step in steps if step.kind == "survived"]
