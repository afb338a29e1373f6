"""The run's process tree from outside, with real processes in every state."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import cast

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.processes.process_source import SELDOM, ProcessSource
from hangtop.records.process import Process, ProcessReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.processes.linux import read_stat
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import ProcessTable
from tests.fakes.launched import LAUNCHER, SLEEP, SPIN, Watch, launched
from tests.fakes.processes import PATIENCE_S, Family, eventually, python, running
from tests.fakes.runs import quiet_port

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")


def test_launcher_ranks_and_their_numbers_are_found(tmp_path: Path) -> None:
    with launched(tmp_path, SLEEP, world=3) as (watch, launcher):
        top = watch.last.processes[0]
        assert (top.pid, top.role, top.rank) == (launcher.pid, "launcher", None)
        assert sorted(watch.ranks()) == [0, 1, 2]
        assert {rank.ppid for rank in watch.ranks().values()} == {launcher.pid}
        assert {(rank.world, rank.local_rank == rank.rank) for rank in watch.ranks().values()} == {(3, True)}
        assert top.subtree_size == 4


def test_who_started_ranks_with_local_numbers_alone_is_the_first_of_them(tmp_path: Path) -> None:
    """As Lightning does: the script starts itself again for each further rank of the node."""
    program = (
        "import os, signal, subprocess, sys\n"
        "if 'LOCAL_RANK' not in os.environ:\n"
        "    for k in (1, 2):\n"
        "        place = dict(LOCAL_RANK=str(k), NODE_RANK='1', WORLD_SIZE='6')\n"
        "        subprocess.Popen([sys.executable, '-c', sys.orig_argv[2], 'again'], env={**os.environ, **place})\n"
        "if os.fork() == 0:\n    signal.pause()\n"
        "signal.pause()"
    )
    log = tmp_path / "train.log"
    with log.open("wb") as out, python(program, stdout=out) as first:
        watch = Watch(log)
        reading = watch.until(lambda r: [p.role for p in r.processes].count("data worker") == 3, "three ranks with a worker each")
        assert sorted(watch.ranks()) == [3, 4, 5], "those of the second node"
        assert watch.ranks()[3].pid == first.pid
        assert {(rank.world, rank.rank) for rank in watch.ranks().values()} == {(6, 3), (6, 4), (6, 5)}
        assert sorted(p.rank for p in reading.processes if p.role == "data worker" and p.rank is not None) == [3, 4, 5]


def test_a_rank_that_writes_its_own_log_brings_its_silent_siblings_through_the_launcher(tmp_path: Path) -> None:
    program = "import os, time\nfile = open(os.environ['OWN'], 'w') if os.environ['RANK'] == '1' else None\ntime.sleep(600)"
    own = tmp_path / "rank_1.log"
    environ = {**os.environ, "OWN": str(own)}
    torchrun = tmp_path / "torchrun"
    torchrun.write_text(LAUNCHER)
    with running(sys.executable, str(torchrun), program, "3", stdout=subprocess.DEVNULL, env=environ) as launcher:
        watch = Watch(own)
        watch.until(lambda reading: len(watch.ranks()) == 3, "three ranks")
        assert watch.last.processes[0].pid == launcher.pid


def test_data_workers_are_known_by_their_name_or_as_copies_of_their_rank(tmp_path: Path) -> None:
    program = (
        "import ctypes, os, time\n"
        "if os.fork() == 0:\n    ctypes.CDLL(None).prctl(15, b'pt_data_worker', 0, 0, 0); time.sleep(600)\n"
        "if os.fork() == 0:\n    time.sleep(600)\n"
        "time.sleep(600)"
    )
    with launched(tmp_path, program, world=1) as (watch, _):
        reading = watch.until(lambda r: [p.role for p in r.processes].count("data worker") == 2, "two data workers")
        workers = [process for process in reading.processes if process.role == "data worker"]
        assert {worker.ppid for worker in workers} == {watch.ranks()[0].pid}
        assert {worker.rank for worker in workers} == {0}


def test_compilers_are_known_and_their_parent_is_judged_with_them(tmp_path: Path) -> None:
    fake = tmp_path / "ptxas"
    fake.symlink_to(sys.executable)
    program = f"import subprocess; subprocess.run([{str(fake)!r}, '-c', {SPIN!r}])"
    with launched(tmp_path, program, world=1) as (watch, _):
        watch.until(lambda r: any(p.role == "compiler" for p in r.processes), "a compiler")

        def waits_while_it_compiles(reading: ProcessReading) -> bool:
            rank = watch.ranks()[0]
            return (rank.state, rank.cpu_percent) == ("S", 0.0) and (rank.subtree_cpu_percent or 0) > 0

        reading = watch.until(waits_while_it_compiles, "CPU of the subtree")
        assert watch.ranks()[0].subtree_running_part is not None
        assert [process.role for process in reading.processes] == ["launcher", "rank", "compiler"]


def test_ranks_whose_launcher_died_stay_part_of_the_run(tmp_path: Path) -> None:
    with launched(tmp_path, SLEEP) as (watch, launcher):
        launcher.kill()
        launcher.wait()
        reading = watch.until(
            lambda r: r.processes and all(process.ppid != launcher.pid for process in r.processes), "reparenting"
        )
        assert sorted(watch.ranks()) == [0, 1]
        assert [(process.pid, process.role) for process in reading.ended] == [(launcher.pid, "launcher")]


def test_ranks_are_the_writers_as_soon_as_their_launcher_is_gone(tmp_path: Path) -> None:
    with launched(tmp_path, SLEEP) as (watch, launcher):
        while watch.source._looks % SELDOM == 0:  # else it is looked for writers anyway
            watch.look()
        launcher.kill()
        launcher.wait()
        writers = {writer.pid: writer.alive for writer in watch.look().writers}
        assert writers.pop(launcher.pid) is False
        assert set(writers) == {rank.pid for rank in watch.ranks().values()}
        assert all(writers.values())


def test_a_rank_left_over_from_a_dead_run_is_an_orphan(tmp_path: Path) -> None:
    log = tmp_path / "other.log"
    log.write_text("another run\n")
    watch = Watch(log)
    with python(LAUNCHER, SLEEP, "1", "29500", "torch.distributed.run", stdout=subprocess.PIPE) as launcher:
        assert launcher.stdout is not None
        launcher.stdout.readline()
        watch.look()
        assert not [
            orphan for orphan in watch.last.orphans if orphan.started_at > time.time() - 30 and orphan.ppid == launcher.pid
        ]
        launcher.kill()
        launcher.wait()

        def own(reading: ProcessReading) -> list[Process]:
            return [
                orphan for orphan in reading.orphans if (stat := read_stat(orphan.pid)) is not None and stat.group == launcher.pid
            ]

        (orphan,) = own(watch.until(own, "an orphan"))
        assert (orphan.role, orphan.rank) == ("rank", 0)
        assert orphan.started_at > time.time() - 600


def test_a_zombie_of_another_program_is_told_when_it_was_not_reaped_for_a_while(tmp_path: Path) -> None:
    spec = WatchSpec(logs=(str(tmp_path / "train.log"),))

    def zombies(at: float) -> set[int]:
        source = ProcessSource(ProbeContext(spec), cast("ProcessTable", Family()))
        (reading, *_) = (value for value in source.read(at) if isinstance(value, ProcessReading))
        return {zombie.pid for zombie in reading.zombies}

    with python("") as ended:
        eventually(lambda: (stat := read_stat(ended.pid)) is not None and stat.state == "Z", "its end")
        assert ended.pid not in zombies(time.time())
        assert ended.pid in zombies(time.time() + 60)


def test_a_run_of_its_own_whose_shell_is_gone_is_no_orphan(tmp_path: Path) -> None:
    log = tmp_path / "other.log"
    log.write_text("another run\n")
    program = f"import os, sys\nif os.fork() == 0:\n    os.setsid(); print(os.getpid(), flush=True)\n    {SLEEP}"
    with python(program, "train", stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        pid = int(shell.stdout.readline())
        try:
            shell.wait()
            watch = Watch(log)
            watch.look()
            assert watch.source._table.stats[pid].ppid != shell.pid
            assert pid not in [orphan.pid for orphan in watch.last.orphans]
        finally:
            os.killpg(pid, signal.SIGKILL)


def test_sockets_to_the_master_port_tell_who_has_joined(tmp_path: Path) -> None:
    port = quiet_port()
    program = (
        "import os, socket, time\n"
        "rank, port = int(os.environ['RANK']), int(os.environ['MASTER_PORT'])\n"
        "server = socket.create_server(('127.0.0.1', port)) if rank == 0 else None\n"
        "while rank != 2:\n"
        "    try:\n        held = socket.create_connection(('127.0.0.1', port)); break\n"
        "    except OSError:\n        time.sleep(0.05)\n"
        "time.sleep(600)"
    )
    with launched(tmp_path, program, world=3, port=str(port)) as (watch, _):
        reading = watch.until(lambda r: r.rendezvous and r.rendezvous.joined == (0, 1), "two ranks at the meeting point")
        rendezvous = reading.rendezvous
        assert rendezvous is not None
        assert (rendezvous.address, rendezvous.port, rendezvous.world) == ("127.0.0.1", port, 3)
        assert (rendezvous.listening, rendezvous.established, rendezvous.missing) == (True, 2, (2,))


def test_a_meeting_of_another_job_at_the_same_port_is_not_the_runs(tmp_path: Path) -> None:
    port = quiet_port()
    theirs = (
        f"import socket, time; server = socket.create_server(('127.0.0.2', {port}))\n"
        f"held = [socket.create_connection(('127.0.0.2', {port})) for _ in range(2)]; met = [server.accept() for _ in held]\n"
        "print('met', flush=True); time.sleep(600)"
    )
    with python(theirs, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with launched(tmp_path, SLEEP, world=2, port=str(port)) as (watch, _):
            met = watch.until(lambda reading: reading.rendezvous, "a look at the sockets").rendezvous
            assert met is not None
            assert (met.listening, met.another_listens, met.established) == (False, False, 0)
            assert (met.joined, met.missing) == ((), (0, 1))


def test_ray_workers_of_the_drivers_job_belong_to_the_run_and_those_of_other_jobs_do_not(tmp_path: Path) -> None:
    logs = tmp_path / "ray" / "session_2026-01-01_00-00-00_1" / "logs"
    logs.mkdir(parents=True)
    driver_log = logs / f"python-core-driver-01000000{'f' * 48}_1.log"
    log = tmp_path / "train.log"
    worker = "exec -a 'ray::WorkerDict.update_actor' " + sys.executable + f" -c '{SLEEP}' > "
    mine, other = logs / f"worker-{'a' * 56}-01000000-11.out", logs / f"worker-{'b' * 56}-02000000-12.out"
    driver = f"import time; held = open({str(driver_log)!r}, 'w'); time.sleep(600)"
    environ = {**os.environ, "RANK": "5", "WORLD_SIZE": "8"}
    with (
        log.open("wb") as out,
        python(driver, stdout=out) as main,
        running("bash", "-c", worker + str(mine), env=environ) as first,
        running("bash", "-c", worker + str(other), env=environ) as other_worker,
    ):
        watch = Watch(log)
        reading = watch.until(lambda r: watch.ranks(), "the worker")
        assert {process.pid for process in reading.processes} >= {main.pid, first.pid}
        assert other_worker.pid not in {process.pid for process in reading.processes}
        assert watch.ranks()[5].pid == first.pid
        assert watch.ranks()[5].command.startswith("ray::WorkerDict.update_actor ")
        watch.until(lambda r: [each.role for each in r.processes if each.pid == main.pid] == ["launcher"], "the driver's part")


def test_slurm_tasks_of_the_same_job_belong_to_an_srun_that_writes_the_log(tmp_path: Path) -> None:
    log = tmp_path / "slurm-77.out"
    copy = {name: tmp_path / name for name in ("srun", "slurmstepd")}
    for path in copy.values():
        path.symlink_to(sys.executable)
    job = os.getpid()  # a number of our own: every srun of a job has all its steps on this machine
    environ = {**os.environ, "SLURM_JOB_ID": str(job)}
    numbered = "os.environ.update(SLURM_PROCID='3', SLURM_STEP_ID='0')"
    task = f"import os, subprocess; {numbered}; subprocess.run([{sys.executable!r}, '-c', {SLEEP!r}])"
    daemon = f"exec -a 'slurmstepd: [{job}.0]' {copy['slurmstepd']} -c \"$TASK\""
    with (
        log.open("wb") as out,
        running(str(copy["srun"]), "-c", SLEEP, stdout=out, env=environ) as srun,
        running("bash", "-c", daemon, env={**os.environ, "TASK": task}) as step,
    ):
        watch = Watch(log)
        watch.until(lambda r: len(watch.ranks()) == 1, "the task")
        assert watch.ranks()[3].ppid == step.pid
        both = {srun.pid, step.pid}
        watch.until(lambda r: {process.pid for process in r.processes} == both | {watch.ranks()[3].pid}, "these three alone")


SRUN = """
import os, socket, subprocess, sys, time
server = socket.create_server(("127.0.0.1", 0))
step = sys.argv[1]
environ = dict(os.environ, SLURM_SRUN_COMM_PORT=str(server.getsockname()[1]), SLURM_PROCID=step, SLURM_STEP_ID=step)
title = f"slurmstepd: [{sys.argv[4]}.{step}]"
task = "import subprocess, sys; subprocess.run([" + repr(sys.argv[3]) + ", '-c', 'import time; time.sleep(600)'])"
daemon = ["bash", "-c", f'exec -a "{title}" {sys.argv[2]} -c "$TASK"']
subprocess.Popen(daemon, env=dict(environ, TASK=task), start_new_session=True, stdout=subprocess.DEVNULL)
print("started", flush=True)
time.sleep(600)
"""
"""As srun does: it listens, and somebody else starts the tasks of its step, who are told where it listens."""


@pytest.mark.parametrize("in_a_job", [True, False], ids=["within a job", "an srun that got its job itself has no number of it"])
def test_of_two_steps_of_slurm_only_that_of_the_srun_that_writes_the_log_is_the_runs(tmp_path: Path, in_a_job: bool) -> None:
    copy = {name: tmp_path / name for name in ("srun", "slurmstepd")}
    for path in copy.values():
        path.symlink_to(sys.executable)
    environ = {**os.environ, "SLURM_JOB_ID": str(os.getpid())} if in_a_job else dict(os.environ)
    logs = [tmp_path / "mine.out", tmp_path / "theirs.out"]
    try:
        with ExitStack() as stack:
            for step, log in enumerate(logs):
                out = stack.enter_context(log.open("wb"))
                argv = (str(copy["srun"]), "-c", SRUN, str(step), str(copy["slurmstepd"]), sys.executable, str(os.getpid()))
                stack.enter_context(running(*argv, stdout=out, env=environ))
            watches = [Watch(log) for log in logs]
            for step, watch in enumerate(watches):
                watch.until(lambda reading, seen=watch: len(seen.ranks()) == 1, "the task of its own step")
                assert set(watch.ranks()) == {step}
                others = {process.pid for process in watches[1 - step].last.processes}
                assert others.isdisjoint(process.pid for process in watch.last.processes)
    finally:
        table = open_table()
        table.refresh(())
        for pid in [pid for pid in table.stats if pid_is_of(table, pid, os.getpid())]:
            os.killpg(pid, signal.SIGKILL)


def pid_is_of(table: ProcessTable, pid: int, job: int) -> bool:
    """Whether it is a step daemon of this job."""
    with suppress(OSError):
        return any(word.startswith(f"slurmstepd: [{job}.") for word in table.command(pid)[:1])
    return False


BESIDE_A_HANGTOP = """
import os, subprocess, sys, time
log = open(sys.argv[1], "w")
rank = dict(os.environ, RANK="0", WORLD_SIZE="1")
train = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=rank, stdout=log)
probe = subprocess.Popen([sys.executable, "-m", "hangtop.probe"], env=rank, stdin=subprocess.PIPE, start_new_session=True)
print(train.pid, probe.pid, flush=True)
time.sleep(600)
"""


def test_a_hangtop_that_the_run_itself_started_is_no_member_of_it_and_no_orphan_afterwards(tmp_path: Path) -> None:
    """Though it has the environment of a rank."""
    log = tmp_path / "train.log"
    with python(BESIDE_A_HANGTOP, str(log), stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        train, probe = map(int, run.stdout.readline().split())
        handle = os.pidfd_open(probe)
        try:
            watch = Watch(log)
            watch.until(lambda reading: {run.pid, train} <= {process.pid for process in reading.processes}, "the run is known")
            assert probe not in {process.pid for process in watch.last.processes}
            signal.pidfd_send_signal(handle, signal.SIGSTOP)
            run.kill()
            run.wait(PATIENCE_S)
            eventually(lambda: (stat := read_stat(probe)) is not None and stat.ppid != run.pid, "it lost its parent")
            for _ in range(SELDOM):
                watch.look()
            assert probe not in {process.pid for process in (*watch.last.processes, *watch.last.orphans)}
        finally:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)
