"""A person's shell is of no run: its jobs are told apart by their process groups, and nothing climbs through it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from hangtop.actions.plans.stop_plan import stop_plan
from hangtop.records.plan import OwnProcess, Plan, Refusal
from hangtop.records.process import ProcessReading
from hangtop.state.run_state import RunState
from tests.fakes.launched import Watch
from tests.fakes.processes import eventually, running
from tests.fakes.runs import hangtop
from tests.fakes.terminal import JOB, needs_terminal, terminal

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only"),
    pytest.mark.skipif(not needs_terminal, reason="needs script(1) and bash"),
]
LAUNCHER = """
import os, subprocess, sys
sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
outputs = [open(sys.argv[1], "w"), open(os.devnull, "w")]
ranks = [subprocess.Popen(sleeper, stdout=output, env={**os.environ, "RANK": str(k)}) for k, output in enumerate(outputs)]
ranks[0].wait()
"""
CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
ME = OwnProcess(os.getpid(), frozenset(), os.geteuid())


def pids(reading: ProcessReading) -> set[int]:
    return {process.pid for process in reading.processes}


def stop_of(reading: ProcessReading, pid: int | None = None) -> Plan | Refusal:
    return stop_plan(RunState(procs=reading), ME, pid=pid)


def named_vim(folder: Path) -> Path:
    """An editor is known by its name alone."""
    vim = folder / "vim"
    shutil.copy("/bin/sleep", vim)
    return vim


@pytest.mark.parametrize("under", [None, "slurmstepd: [77.0]", "slurmstepd: [77.interactive]"])
def test_of_the_jobs_of_a_shell_only_the_one_that_writes_the_log_is_the_run(tmp_path: Path, under: str | None) -> None:
    first, second = tmp_path / "run1.log", tmp_path / "run2.log"
    with terminal(tmp_path, under=under) as shell:
        pid = shell.job(f"train.py > {first}")
        shell.job(f"train.py > {second}")
        shell.type(f"{named_vim(tmp_path)} 600 > {tmp_path}/screen &")
        eventually((tmp_path / "screen").exists)
        watch = Watch(first)
        reading = watch.until(lambda r: r.processes, "the run")
        assert pids(reading) == {pid}
        assert reading.shell is None
        made = stop_of(reading)
        assert isinstance(made, Plan)
        assert [target.pid for target in made.targets] == [pid]


def test_a_rank_still_brings_its_launcher_when_both_are_a_job_of_a_shell(tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    launcher = tmp_path / "torchrun"
    launcher.write_text(LAUNCHER)
    with terminal(tmp_path) as shell:
        shell.type(f"{sys.executable} {launcher} {log} > /dev/null & echo $! > {tmp_path}/pid")
        top = int(eventually(lambda: (tmp_path / "pid").read_text() if (tmp_path / "pid").exists() else ""))
        watch = Watch(log)
        watch.until(lambda r: len(watch.ranks()) == 2, "both ranks")
        assert watch.last.processes[0].pid == top
        assert shell.shell not in pids(watch.last)


def test_a_job_in_brackets_before_a_relay_is_the_run_from_its_subshell_on(tmp_path: Path) -> None:
    """A subshell is a copy of the person's shell, leads the group of its job, and is a launcher like any other."""
    log = tmp_path / "train.log"
    with terminal(tmp_path) as shell:
        shell.type(f"(cd /; {sys.executable} -c {shlex.quote(JOB)} {tmp_path}/up; true) 2>&1 | tee {log} &")
        eventually((tmp_path / "up").exists, "the run")
        watch = Watch(log)
        reading = watch.until(lambda r: len(r.processes) == 2, "the subshell and the program")
        assert shell.shell not in pids(reading)
        assert reading.processes[0].ppid == shell.shell
        assert reading.shell is None


@pytest.mark.parametrize("way", ["script", "tee", "file"])
def test_where_a_shell_writes_the_log_itself_its_job_is_the_run_and_the_shell_is_left(tmp_path: Path, way: str) -> None:
    log = tmp_path / "train.log"
    with terminal(tmp_path, log if way == "script" else "/dev/null") as shell:
        if way != "script":
            shell.type(f"exec > >(tee {log}) 2>&1" if way == "tee" else f"exec > {log} 2>&1")
        run = shell.job()
        shell.type(f"{named_vim(tmp_path)} 600 & echo $! > {tmp_path}/vim.pid")
        vim = eventually(lambda: (tmp_path / "vim.pid").read_text().strip() if (tmp_path / "vim.pid").exists() else "")
        eventually(lambda: Path(f"/proc/{vim}/comm").read_text() == "vim\n", "an editor")  # until then a copy of the shell
        watch = Watch(log)
        reading = watch.until(lambda r: r.processes, "the run")
        assert pids(reading) == {run}
        assert (reading.shell, reading.jobs) == (shell.shell, ())
        made = stop_of(reading)
        assert isinstance(made, Plan)
        assert f"that shell, pid {shell.shell}, is not touched" in made.warnings[0]
        other = shell.job("eval.py")
        reading = watch.until(lambda r: len(r.jobs) == 2, "the second job")
        refused = stop_of(reading)
        assert isinstance(refused, Refusal)
        assert f"--pid {run}: " in refused.why
        assert f"--pid {other}: " in refused.why
        chosen = stop_of(reading, run)
        assert isinstance(chosen, Plan)
        assert [target.pid for target in chosen.targets] == [run]


def test_without_job_control_each_process_of_a_shell_is_a_job_and_none_is_taken_for_the_run_with_another(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with terminal(tmp_path) as shell:
        shell.type(f"set +m; exec > {log} 2>&1")
        run, other = shell.job(), shell.job("eval.py")
        watch = Watch(log)
        reading = watch.until(lambda r: len(r.jobs) == 2, "both jobs")
        assert (set(reading.jobs), reading.shell) == ({run, other}, shell.shell)
        assert isinstance(stop_of(reading), Refusal)
        chosen = stop_of(reading, run)
        assert isinstance(chosen, Plan)
        assert [target.pid for target in chosen.targets] == [run]


def test_a_stop_ends_the_job_and_the_shell_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with terminal(tmp_path, log) as shell:
        run = shell.job()
        done = hangtop("stop", "--log", str(log), "--yes", environ={"XDG_STATE_HOME": str(tmp_path)})
        assert done.returncode == 0, done.stdout
        assert "Stop the run: 1 process" in done.stdout
        assert not os.path.exists(f"/proc/{run}")
        shell.type(f"echo here > {tmp_path}/after")
        assert eventually(lambda: (tmp_path / "after").exists() and (tmp_path / "after").read_text(), "the shell") == "here\n"


def test_a_program_that_only_bears_the_name_of_a_relay_is_the_run_itself(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    program = tmp_path / "script"
    program.symlink_to(sys.executable)
    with log.open("wb") as out, running(str(program), "-c", CHILD, stdout=out) as top:
        watch = Watch(log)
        reading = watch.until(lambda r: len(r.processes) == 2, "the program and its child")
        assert [writer.pid for writer in reading.writers] == [top.pid]


@pytest.mark.skipif(shutil.which("screen") is None, reason="screen(1) is not installed")
def test_a_screen_of_two_windows_does_not_tell_which_of_them_the_log_is_of(tmp_path: Path) -> None:
    """Its server writes the log of a window: the note says so and what to do, and nothing may be stopped."""
    log, name = tmp_path / "train.log", f"t{os.getpid()}"
    (tmp_path / "d").mkdir(mode=0o700)
    environ = {**os.environ, "SCREENDIR": str(tmp_path / "d"), "TERM": "xterm"}
    keeper = ("screen", "-D", "-m", "-S", name, "-L", "-Logfile", str(log), "bash", "-c", "echo step 1; exec sleep 600")
    with running(*keeper, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        windows = psutil.Process(server.pid).children
        eventually(lambda: any((tmp_path / "d").iterdir()) and windows(), "the server and its first window")
        subprocess.run(("screen", "-S", name, "-X", "screen", "sleep", "600"), env=environ, check=True, timeout=60)
        eventually(lambda: len(windows()) == 2, "the second window")
        watch = Watch(log)
        reading = watch.until(lambda r: r.note and not r.processes, "the note")
        assert f"pid {server.pid} (screen) writes the log for one of its windows" in (reading.note or "")
        assert "--pid" in (reading.note or "")
        refused = stop_of(reading)
        assert isinstance(refused, Refusal)
        assert "one of its windows" in refused.why
