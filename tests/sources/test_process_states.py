"""What each rank is doing, as the kernel tells it: busy, asleep, stopped, traced, dead, blocked."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hangtop.probe.processes import process_source
from hangtop.records.process import ProcessReading
from hangtop.system.processes import linux
from hangtop.system.processes.exits import Exits
from tests.fakes.frozen_disk import frozen_disk
from tests.fakes.launched import LAUNCHER, SLEEP, SPIN, Watch, launched, states
from tests.fakes.processes import eventually, python

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")


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


def test_a_rank_that_its_launcher_does_not_reap_is_a_zombie_with_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where there are more zombies of others than are told."""
    monkeypatch.setattr(process_source, "MAX_LEFTOVERS", 1)
    monkeypatch.setattr(process_source, "YOUNG_S", 0.0)
    others = [subprocess.Popen([sys.executable, "-c", ""]) for _ in range(3)]
    for other in others:
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
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
    for other in others:
        other.wait()


def test_a_zombie_whose_exit_code_is_known_needs_no_handle() -> None:
    """There may be hundreds of them, and handles only for 256."""
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read(); sys.exit(7)"], stdin=subprocess.PIPE) as process:
        exits, living = Exits(), linux.read_stat(process.pid)
        assert living is not None
        exits.watch(living)
        assert process.stdin is not None
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        dead = linux.read_stat(process.pid)
        assert dead is not None
        exits.watch(dead)
        assert (exits.code(dead.identity), exits._handles) == (7, {})


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


def test_bytes_to_storage_are_seen(tmp_path: Path) -> None:
    program = (
        "import os, time\n"
        f"file = os.open({str(tmp_path / 'big')!r}, os.O_CREAT | os.O_WRONLY)\n"
        "while True:\n    os.pwrite(file, b'x' * 1_000_000, 0); os.fsync(file); time.sleep(0.01)"
    )
    with launched(tmp_path, program, world=1) as (watch, _):
        watch.until(lambda r: (recent := watch.ranks()[0].recent) and (recent.passed_b_s or 0) > 10_000, "written bytes")


def test_a_rank_blocked_on_a_frozen_disk_is_blocked_where_the_kernel_says_and_nothing_waits_for_it(tmp_path: Path) -> None:
    with frozen_disk(tmp_path) as disk:
        program = f"import os\nif os.environ['RANK'] == '1':\n    open({str(disk / 'checkpoint.pt')!r}, 'w')\n{SLEEP}"
        with launched(tmp_path, program) as (watch, _):

            def stands(_: ProcessReading) -> bool:
                """In one place of the kernel, in each look of the window: a slow disk as well may block it, for a while."""
                recent = watch.ranks()[1].recent
                return (
                    recent is not None
                    and recent.samples >= 3
                    and (states(watch)[1], recent.wchan, recent.blocked_part) == ("D", watch.ranks()[1].wchan, 1.0)
                )

            watch.until(stands, "uninterruptible sleep")
            blocked = watch.ranks()[1]
            assert blocked.doing == (f"blocked in {blocked.wchan}" if blocked.wchan else "blocked in the kernel")
            watch.until(lambda r: states(watch)[0] == "S", "the other one, asleep")
            subprocess.run(["fsfreeze", "-u", str(disk)], check=True)
            watch.until(lambda r: states(watch).get(1) == "S", "the thaw")
            subprocess.run(["fsfreeze", "-f", str(disk)], check=True)


HEADLESS = (
    "import ctypes, threading, time\n"
    "print('up', flush=True)\n"
    "threading.Thread(target=time.sleep, args=(600,)).start()\n"
    "ctypes.CDLL(None).pthread_exit(None)"
)


def test_a_rank_whose_first_thread_has_ended_lives_with_its_command_files_and_memory(tmp_path: Path) -> None:
    with launched(tmp_path, f"import os\nif os.environ['RANK'] == '0':\n    {SLEEP}\n{HEADLESS}") as (watch, _):
        pid = watch.ranks()[1].pid
        eventually(
            lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z", "the end of its first thread"
        )
        watch.until(lambda r: watch.ranks()[1].threads == 2, "a look after it")
        rank = watch.ranks()[1]
        assert (rank.state, rank.doing, rank.exit_code) == ("S", "sleeping", None)
        assert "pthread_exit" in rank.command
        assert (rank.rss_bytes or 0) > 2**20
        assert pid not in {process.pid for process in watch.last.zombies}


def test_who_writes_the_log_without_its_first_thread_is_the_writer(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with log.open("wb") as out, python(HEADLESS, stdout=out) as trainer:
        eventually(lambda: Path(f"/proc/{trainer.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z", "its first end")
        watch = Watch(log)
        reading = watch.until(lambda r: r.processes, "a run")
        assert [writer.pid for writer in reading.writers if writer.alive] == [trainer.pid]
        assert [process.pid for process in reading.processes] == [trainer.pid]
