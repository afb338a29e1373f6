"""The run's process tree from outside, with real processes in every state."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hangtop.records.process import Process, ProcessReading
from hangtop.sources.processes import ProcessSource
from hangtop.spec import WatchSpec
from hangtop.wire import decode_reading, encode
from tests.fakes.processes import eventually, python, running

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")

LAUNCHER = """
import os, signal, subprocess, sys
program, world = sys.argv[1], int(sys.argv[2])
port = sys.argv[3] if len(sys.argv) > 3 else "29500"
ranks = [
    subprocess.Popen([sys.executable, "-u", "-c", program], env=dict(os.environ, RANK=str(k), LOCAL_RANK=str(k),
                     WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=port))
    for k in range(world)
]
print("launched", flush=True)
while True:
    signal.pause()
"""
SLEEP = "import time; time.sleep(600)"
SPIN = "while True: pass"


class Watch:
    """One source and its last reading; time is moved by hand, one second a look, so that rates need no waiting."""

    def __init__(self, log: Path) -> None:
        self.source = ProcessSource(WatchSpec(logs=(str(log),)))
        self.last = ProcessReading()

    def look(self) -> ProcessReading:
        values = [value for value in self.source.read(time.time()) if isinstance(value, ProcessReading)]
        (self.last,) = values
        return self.last

    def until(self, seen: Callable[[ProcessReading], object], what: str = "it") -> ProcessReading:
        """Look until this is true of a reading."""
        return eventually(lambda: reading if seen(reading := self.look()) else None, what)

    def ranks(self) -> dict[int, Process]:
        return {process.rank: process for process in self.last.processes if process.role == "rank" and process.rank is not None}


@contextmanager
def launched(
    tmp_path: Path, program: str, world: int = 2, port: str = "29500"
) -> Iterator[tuple[Watch, subprocess.Popen[bytes]]]:
    """A launcher with `world` ranks that run `program`; only the launcher's output goes to the log."""
    log = tmp_path / "train.log"
    with log.open("wb") as out, python(LAUNCHER, program, str(world), port, "torch.distributed.run", stdout=out) as launcher:
        watch = Watch(log)
        watch.until(lambda reading: len(watch.ranks()) == world, f"{world} ranks")
        yield watch, launcher


def states(watch: Watch) -> dict[int, str]:
    return {rank: process.state for rank, process in watch.ranks().items()}


def test_launcher_ranks_and_their_numbers_are_found(tmp_path: Path) -> None:
    with launched(tmp_path, SLEEP, world=3) as (watch, launcher):
        top = watch.last.processes[0]
        assert (top.pid, top.role, top.rank) == (launcher.pid, "launcher", None)
        assert sorted(watch.ranks()) == [0, 1, 2]
        assert {rank.ppid for rank in watch.ranks().values()} == {launcher.pid}
        assert {(rank.world, rank.local_rank == rank.rank) for rank in watch.ranks().values()} == {(3, True)}
        assert top.subtree_size == 4


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
            return (rank.state, rank.cpu_percent) == ("S", 0.0) and (rank.subtree_cpu_percent or 0) > 5

        reading = watch.until(waits_while_it_compiles, "CPU of the subtree")
        assert watch.ranks()[0].subtree_running_part is not None
        assert [process.role for process in reading.processes] == ["launcher", "rank", "compiler"]


def test_a_spinning_rank_uses_a_core_and_a_sleeping_one_none(tmp_path: Path) -> None:
    program = f"import os, time\nif os.environ['RANK'] == '1':\n    {SPIN}\ntime.sleep(600)"
    with launched(tmp_path, program) as (watch, _):
        watch.until(lambda r: (watch.ranks()[1].cpu_percent or 0) > 5, "a busy rank")
        watch.until(lambda r: (recent := watch.ranks()[1].recent) and recent.samples >= 5 and recent.running_part > 0.5)
        watch.until(lambda r: (watch.ranks()[0].doing, watch.ranks()[0].cpu_percent) == ("sleeping", 0.0), "an idle rank")
        assert "nanosleep" in (watch.ranks()[0].wchan or "nanosleep")  # some kernels hide it


def test_a_stopped_rank_is_stopped_since_a_time(tmp_path: Path) -> None:
    with launched(tmp_path, SLEEP) as (watch, _):
        before = time.time()
        os.kill(watch.ranks()[1].pid, signal.SIGSTOP)
        watch.until(lambda r: states(watch).get(1) == "T", "a stop")
        assert watch.ranks()[1].doing == "stopped"
        assert before - 1 < (watch.ranks()[1].state_since or 0) <= time.time()
        watch.until(lambda r: watch.ranks()[0].doing == "sleeping", "the other one, asleep")


def test_a_rank_under_a_debugger_names_the_debugger(tmp_path: Path) -> None:
    with launched(tmp_path, SLEEP) as (watch, _):
        pid = watch.ranks()[0].pid
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.ptrace(16, pid, 0, 0) != 0:  # PTRACE_ATTACH: this test is the debugger
            pytest.skip("this machine does not allow ptrace")
        try:
            watch.until(lambda r: watch.ranks()[0].state == "t", "the trace stop")
            assert watch.ranks()[0].doing == f"held by a debugger (pid {os.getpid()})"
        finally:
            os.waitpid(pid, 0x4000_0000)  # __WALL: a traced process reports to its tracer
            libc.ptrace(17, pid, 0, 0)  # PTRACE_DETACH


def test_a_rank_that_its_launcher_does_not_reap_is_a_zombie_with_its_exit_code(tmp_path: Path) -> None:
    mark = tmp_path / "seen"  # on a busy machine it would be dead before it was looked at, and a zombie has no environment
    program = (
        "import os, time\n"
        f"while os.environ['RANK'] == '0' or not os.path.exists({str(mark)!r}):\n    time.sleep(0.05)\n"
        "os._exit(7)"
    )
    with launched(tmp_path, program) as (watch, _):
        mark.touch()
        watch.until(lambda r: states(watch).get(1) == "Z", "a zombie")
        assert watch.ranks()[1].doing == "zombie, exit code 7"
        assert [(zombie.rank, zombie.exit_code) for zombie in watch.last.zombies if zombie.role == "rank"] == [(1, 7)]


def test_a_killed_rank_is_kept_as_ended_with_its_signal(tmp_path: Path) -> None:
    program = LAUNCHER.replace("while True:", "for rank in ranks: rank.wait()\nwhile True:")
    log = tmp_path / "train.log"
    with log.open("wb") as out, python(program, SLEEP, "2", "29500", "torch.distributed.run", stdout=out):
        watch = Watch(log)
        watch.until(lambda r: len(watch.ranks()) == 2)
        os.kill(watch.ranks()[0].pid, signal.SIGKILL)
        reading = watch.until(lambda r: r.ended, "the end of a rank")
        assert [(process.rank, process.state) for process in reading.ended] == [(0, "X")]
        if reading.ended[0].exit_code is not None:  # known from Linux 6.15 on
            assert reading.ended[0].exit_code == -signal.SIGKILL
        assert sorted(watch.ranks()) == [1]


def test_ranks_whose_launcher_died_stay_part_of_the_run(tmp_path: Path) -> None:
    with launched(tmp_path, SLEEP) as (watch, launcher):
        launcher.kill()
        launcher.wait()
        watch.until(lambda r: r.processes and all(process.ppid != launcher.pid for process in r.processes), "reparenting")
        assert sorted(watch.ranks()) == [0, 1]


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
            return [orphan for orphan in reading.orphans if os.getpgid(orphan.pid) == launcher.pid]

        (orphan,) = own(watch.until(own, "an orphan"))
        assert (orphan.role, orphan.rank) == ("rank", 0)
        assert orphan.started_at > time.time() - 60


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


@needs_root
def test_a_rank_of_another_user_is_shown_as_root(tmp_path: Path) -> None:
    program = "import os, time\nos.setuid(65534)\ntime.sleep(600)"
    with launched(tmp_path, program, world=1) as (watch, _):
        watch.until(lambda r: watch.ranks()[0].uid == 65534, "the other user")
        assert watch.ranks()[0].user in ("nobody", "65534")
        assert watch.ranks()[0].missing_right is None


def as_nobody(spec: WatchSpec) -> ProcessReading:
    """What hangtop sees as a user without rights, in a process of its own."""
    looker = (
        "import os, sys, time, psutil, pwd\n"
        "from hangtop.records.process import ProcessReading\n"
        "from hangtop.records.reading import Reading\n"
        "from hangtop.sources.processes import ProcessSource\n"
        "from hangtop.wire import decode_spec, encode\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "source = ProcessSource(decode_spec(sys.stdin.buffer.read()))\n"
        "for _ in range(2):\n"
        "    (reading,) = [value for value in source.read(time.time()) if isinstance(value, ProcessReading)]\n"
        "sys.stdout.buffer.write(encode(Reading('procs', 'h', 1.0, reading)))\n"
    )
    root = Path(__file__).parents[2]
    answer = subprocess.run([sys.executable, "-c", looker], input=encode(spec), capture_output=True, check=True, cwd=root)
    reading = decode_reading(answer.stdout).value
    assert isinstance(reading, ProcessReading)
    return reading


@needs_root
def test_without_the_right_fields_are_unknown_and_the_command_that_grants_it_is_named(tmp_path: Path) -> None:
    with launched(tmp_path, SLEEP, world=1) as (watch, launcher):
        reading = as_nobody(WatchSpec(logs=(str(tmp_path / "train.log"),), pids=(launcher.pid,)))
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
            assert (reading.note or "").endswith("run hangtop as that user, or: sudo hangtop")


def test_sockets_to_the_master_port_tell_who_has_joined(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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


def test_bytes_to_storage_are_seen(tmp_path: Path) -> None:
    program = (
        "import os, time\n"
        f"file = os.open({str(tmp_path / 'big')!r}, os.O_CREAT | os.O_WRONLY)\n"
        "while True:\n    os.pwrite(file, b'x' * 1_000_000, 0); os.fsync(file); time.sleep(0.01)"
    )
    with launched(tmp_path, program, world=1) as (watch, _):
        watch.until(lambda r: (recent := watch.ranks()[0].recent) and (recent.passed_b_s or 0) > 10_000, "written bytes")


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
    task = f"import os, subprocess; os.environ['SLURM_PROCID'] = '3'; subprocess.run([{sys.executable!r}, '-c', {SLEEP!r}])"
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


@contextmanager
def frozen_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own on which every write waits for ever. Thawed and unmounted at the end."""
    image, mount = tmp_path / "disk.img", tmp_path / "disk"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(16 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
    if subprocess.run(["mount", "-o", "loop", str(image), str(mount)], capture_output=True).returncode:
        pytest.skip("this machine allows no loop mount, so no process can be brought into uninterruptible sleep")
    try:
        subprocess.run(["fsfreeze", "-f", str(mount)], check=True)
        yield mount
    finally:
        subprocess.run(["fsfreeze", "-u", str(mount)], check=False)
        eventually(lambda: subprocess.run(["umount", str(mount)], capture_output=True).returncode == 0, "the unmount")


@needs_root
@pytest.mark.skipif(not all(map(shutil.which, ("mkfs.ext4", "fsfreeze", "losetup"))), reason="needs mkfs.ext4, fsfreeze, losetup")
def test_a_rank_blocked_on_a_frozen_disk_is_blocked_where_the_kernel_says_and_nothing_waits_for_it(tmp_path: Path) -> None:
    with frozen_disk(tmp_path) as disk:
        program = f"import os\nif os.environ['RANK'] == '1':\n    open({str(disk / 'checkpoint.pt')!r}, 'w')\n{SLEEP}"
        with launched(tmp_path, program) as (watch, _):
            watch.until(lambda r: states(watch).get(1) == "D", "uninterruptible sleep")
            for _ in range(3):
                begun = time.monotonic()
                watch.look()
                assert time.monotonic() - begun < watch.source.deadline_s
            blocked = watch.ranks()[1]
            assert blocked.recent is not None
            assert (blocked.state, blocked.recent.wchan, blocked.cpu_percent) == ("D", blocked.wchan, 0.0)
            assert blocked.doing == (f"blocked in {blocked.wchan}" if blocked.wchan else "blocked in the kernel")
            watch.until(lambda r: states(watch)[0] == "S", "the other one, asleep")
            subprocess.run(["fsfreeze", "-u", str(disk)], check=True)
            watch.until(lambda r: states(watch).get(1) == "S", "the thaw")
            subprocess.run(["fsfreeze", "-f", str(disk)], check=True)
