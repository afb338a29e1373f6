"""Who writes a log is found from outside, with real processes that write in all the usual ways."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.log.run_logs import RunLogs
from hangtop.probe.processes.process_source import ProcessSource
from hangtop.records.process import ProcessReading, Writer
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.files.file_writers import OpenFileTable, find_feeders
from hangtop.system.processes.table import Details, OpenFile, Stat
from tests.fakes.processes import eventually, python, running

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

TRAINER = "import time; print('step 1', flush=True); time.sleep(600)"


LAST: WeakKeyDictionary[ProcessSource, ProcessReading] = WeakKeyDictionary()


def reading(source: ProcessSource, now: float | None = None) -> ProcessReading:
    """What is known after one more look; a look that saw nothing new tells nothing."""
    for value in source.read(time.time() if now is None else now):
        if isinstance(value, ProcessReading):
            LAST[source] = value
    return LAST[source]


def writers_of(*logs: Path | str) -> Callable[[], tuple[Writer, ...]]:
    """Looks as often as it is called, with one source."""
    source = ProcessSource(ProbeContext(WatchSpec(logs=tuple(map(str, logs)))))
    return lambda: reading(source).writers


def trainer_of(look: Callable[[], tuple[Writer, ...]]) -> Writer:
    """The trainer, once it has become Python: a shell forks first."""
    return eventually(lambda: next((writer for writer in look() if writer.name.startswith("python")), None), "a trainer")


def test_the_process_that_holds_the_log_open_is_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    before = time.time()
    with log.open("wb") as out, python(TRAINER, stdout=out) as trainer:
        look = writers_of(log)
        (writer,) = eventually(lambda: [writer for writer in look() if "time.sleep(600)" in writer.command])
        assert (writer.pid, writer.alive, writer.via, writer.exit_code) == (trainer.pid, True, None, None)
        assert writer.paths == (str(log),)
        assert before - 2 < writer.started_at < time.time() + 2


def test_behind_tee_the_program_is_the_writer_not_tee(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    look = writers_of(log)
    with running("bash", "-c", f'{sys.executable} -c "{TRAINER}" 2>&1 | tee {log}', stdout=subprocess.DEVNULL):
        assert trainer_of(look).via == "tee"
        assert len(look()) == 1


def test_a_chain_of_relays_is_followed_to_its_start(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    line = f'{sys.executable} -c "{TRAINER}" 2>&1 | grep --line-buffered . | tee {tmp_path / "other"} | cat > {log}'
    look = writers_of(log)
    with running("bash", "-c", line, stdout=subprocess.DEVNULL):
        assert trainer_of(look).via == "grep"
        assert len(look()) == 1


def test_under_nohup_the_program_itself_is_the_writer(tmp_path: Path) -> None:
    log = tmp_path / "nohup.out"
    look = writers_of(log)
    with running("bash", "-c", f'nohup {sys.executable} -c "{TRAINER}" > {log} 2>&1 & wait'):
        assert trainer_of(look).via is None


@pytest.mark.skipif(shutil.which("script") is None, reason="script(1) is not installed")
def test_under_script_the_program_on_its_terminal_is_the_writer(tmp_path: Path) -> None:
    log = tmp_path / "typescript"
    look = writers_of(log)
    with running("script", "-f", "-c", "sleep 600", str(log), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL):
        writer = eventually(lambda: next((writer for writer in look() if writer.via == "script"), None))
        assert "sleep 600" in writer.command


def on_terminals(name: str, terminals: int) -> OpenFileTable:
    """A program that holds the log and so many terminals, with a shell on each."""
    stats = {10: Stat(10, name, "S", 1, 10, 10, 5)} | {pid: Stat(pid, "bash", "S", 10, pid, pid, 6) for pid in (11, 12)}
    masters = tuple(OpenFile(5 + nth, "/dev/ptmx", writable=True) for nth in range(terminals))
    return OpenFileTable(stats, {10: (OpenFile(3, "/r/train.log", writable=True), *masters)})


@pytest.mark.parametrize(
    ("name", "terminals", "writers"),
    [
        pytest.param("script", 1, [11, 12], id="one terminal: who runs there"),
        pytest.param("screen", 1, [11, 12], id="a session with one window"),
        pytest.param("screen", 2, [], id="several windows: which of them is written down is not told"),
        pytest.param("script", 0, [10], id="a program of that name that serves no terminal"),
        pytest.param("python", 1, [10], id="a trainer that runs a tool on a terminal"),
    ],
)
def test_who_serves_terminals_is_told_by_what_it_holds(name: str, terminals: int, writers: list[int]) -> None:
    assert [feeder.pid for feeder in find_feeders(on_terminals(name, terminals), ["/r/train.log"])] == writers


def test_of_a_launcher_and_its_children_on_one_log_only_the_launcher_is_named(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {TRAINER!r}])"
    with log.open("wb") as out, python(program, stdout=out) as launcher:
        eventually(lambda: log.stat().st_size)
        assert [writer.pid for writer in writers_of(log)()] == [launcher.pid]


def test_when_the_launcher_dies_the_child_that_goes_on_writing_is_named(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {TRAINER!r}])"
    look = writers_of(log)
    with log.open("wb") as out, python(program, stdout=out) as launcher:
        eventually(lambda: log.stat().st_size)
        assert [writer.pid for writer in look()] == [launcher.pid]
        launcher.kill()
        launcher.wait()
        alive = eventually(lambda: [writer for writer in look() if writer.alive])
        assert [writer.pid for writer in alive] != [launcher.pid]


@pytest.mark.parametrize("watched", ["*.log", ".", "rank_*.log"])
def test_logs_may_be_globs_and_directories(tmp_path: Path, watched: str) -> None:
    with (tmp_path / "rank_3.log").open("wb") as out, python(TRAINER, stdout=out) as trainer:
        assert [writer.pid for writer in eventually(writers_of(tmp_path / watched))] == [trainer.pid]


def test_until_the_files_of_a_folder_are_known_no_writer_of_them_was_looked_for(tmp_path: Path) -> None:
    context = ProbeContext(WatchSpec(logs=(str(tmp_path),)))
    source, logs = ProcessSource(context), RunLogs(context)
    with (tmp_path / "rank_3.log").open("wb") as out, python(TRAINER, stdout=out):
        eventually(lambda: (tmp_path / "rank_3.log").stat().st_size)
        first = reading(source)
        assert (first.writers, first.sought) == ((), False)
        list(logs.read(time.time()))
        assert eventually(lambda: seen if (seen := reading(source)).sought else None).writers
    logs.close()
    single = ProcessSource(ProbeContext(WatchSpec(logs=(str(tmp_path / "rank_3.log"),))))
    assert reading(single).sought


def test_a_run_whose_files_in_the_same_folder_are_not_watched_writes_none_of_the_logs(tmp_path: Path) -> None:
    mine, theirs = (tmp_path / f"none_{name}" / "attempt_0" / "0" / "stdout.log" for name in ("mine", "theirs"))
    for path in (theirs, mine):
        path.parent.mkdir(parents=True)
    context = ProbeContext(WatchSpec(logs=(str(tmp_path),)))
    source, logs = ProcessSource(context), RunLogs(context)
    with theirs.open("wb") as their_out, python(TRAINER, stdout=their_out) as other:
        eventually(lambda: theirs.stat().st_size)
        with mine.open("wb") as out, python(TRAINER, stdout=out) as trainer:
            eventually(lambda: mine.stat().st_size)
            eventually(lambda: len(reading(source).writers) == 2, "both, while no log source tells its files")
            os.utime(mine, (time.time() + 60, time.time() + 60))
            list(logs.read(time.time()))
            found = eventually(lambda: seen if len((seen := reading(source)).writers) == 1 else None, "one writer")
            assert [writer.pid for writer in found.writers] == [trainer.pid]
            assert other.pid not in [process.pid for process in found.processes]
    logs.close()


def test_a_log_may_be_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "latest.log").symlink_to(tmp_path / "run7.log")
    with (tmp_path / "run7.log").open("wb") as out, python(TRAINER, stdout=out) as trainer:
        assert [writer.pid for writer in eventually(writers_of(tmp_path / "latest.log"))] == [trainer.pid]


def test_readers_of_the_log_and_writers_of_other_files_are_not_its_writers(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1\n")
    look = writers_of(log)
    with (
        running("tail", "-f", str(log), stdout=subprocess.DEVNULL),
        (tmp_path / "train.log.1").open("wb") as out,
        python(TRAINER, stdout=out),
    ):
        eventually(lambda: (tmp_path / "train.log.1").stat().st_size)
        assert look() == ()


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare(1) for a mount namespace"
)
def test_a_writer_in_a_container_is_found_though_it_knows_the_log_by_another_path(tmp_path: Path) -> None:
    log = tmp_path / "host" / "train.log"
    for folder in ("host", "workspace"):
        (tmp_path / folder).mkdir()
    enter = f"mount --bind {tmp_path}/host {tmp_path}/workspace"
    inside = f'{enter} && exec {sys.executable} -c "{TRAINER}" > {tmp_path}/workspace/train.log'
    look = writers_of(log)
    with running("unshare", "--mount", "bash", "-c", inside):
        assert trainer_of(look).paths == (str(tmp_path / "workspace" / "train.log"),)


def test_a_deleted_log_has_no_writer_by_its_name(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with log.open("wb") as out, python(TRAINER, stdout=out):
        eventually(lambda: log.stat().st_size)
        log.unlink()
        log.write_text("a new file of the same name")
        assert writers_of(log)() == ()


@pytest.mark.parametrize(("ending", "code"), [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9), ("", 0)])
def test_a_writer_that_ends_is_kept_with_its_time_and_exit_code(tmp_path: Path, ending: str, code: int) -> None:
    log = tmp_path / "train.log"
    source = ProcessSource(ProbeContext(WatchSpec(logs=(str(log),))))
    with log.open("wb") as out, python(f"input()\n{ending}", stdin=subprocess.PIPE, stdout=out) as trainer:
        eventually(lambda: reading(source).writers)
        trainer.communicate(b"\n")
        writer = eventually(lambda: next((writer for writer in reading(source, now=5.0).writers if not writer.alive), None))
        assert writer.gone_at == 5.0
        if not _tells_exit_codes():
            pytest.skip("this kernel is older than 6.15: it does not tell the exit code of a process that was reaped")
        assert writer.exit_code == code
        assert reading(source, now=9.0).writers == (writer,)


def test_a_zombie_is_gone_and_its_exit_code_is_read_from_the_table(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    source = ProcessSource(ProbeContext(WatchSpec(logs=(str(log),))))
    with log.open("wb") as out, python("input(); raise SystemExit(7)", stdin=subprocess.PIPE, stdout=out) as trainer:
        eventually(lambda: reading(source).writers)
        assert trainer.stdin is not None
        trainer.stdin.write(b"\n")
        trainer.stdin.flush()
        writer = eventually(lambda: next((writer for writer in reading(source).writers if not writer.alive), None))
        assert writer.exit_code == 7


def test_a_stopped_writer_is_alive(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with log.open("wb") as out, python(TRAINER, stdout=out) as trainer:
        look = writers_of(log)
        eventually(look)
        os.kill(trainer.pid, signal.SIGSTOP)
        assert [writer.alive for writer in look()] == [True]


def test_pids_given_by_hand_are_the_writers(tmp_path: Path) -> None:
    with python(TRAINER, stdout=subprocess.DEVNULL) as trainer:
        source = ProcessSource(ProbeContext(WatchSpec(logs=(str(tmp_path / "none.log"),), pids=(trainer.pid,))))
        assert [writer.pid for writer in reading(source).writers] == [trainer.pid]


def test_a_pid_given_by_hand_that_does_not_exist_is_said() -> None:
    gone = 2**22 + 1  # above the kernel's largest pid
    assert reading(ProcessSource(ProbeContext(WatchSpec(pids=(gone,))))).note == f"--pid {gone}: no such process on this machine"


def test_a_log_that_nobody_writes_has_no_writer_and_nothing_is_hidden_from_its_owner(tmp_path: Path) -> None:
    log = tmp_path / "old.log"
    log.write_text("step 1\n")
    assert reading(ProcessSource(ProbeContext(WatchSpec(logs=(str(log),))))).writers == ()


class OneProcess:
    """A table of one process, whose start time a test may change."""

    ticks_per_s = 100

    def __init__(self, log: Path, start_ticks: int) -> None:
        self.log, self.start_ticks = log, start_ticks

    @property
    def stats(self) -> Mapping[int, Stat]:
        return {77: Stat(77, "python", "S", 1, 77, 77, self.start_ticks)}

    def refresh(self, watched: object) -> None: ...

    def started_at(self, start_ticks: int) -> float:
        return start_ticks / 100

    def owner(self, pid: int) -> int | None:
        return 0

    def command(self, pid: int) -> tuple[str, ...]:
        return ("python", "train.py\x1b[31m\n", f"--born={self.start_ticks}")

    def environ(self, pid: int) -> Mapping[str, str]:
        return {}

    def cwd(self, pid: int) -> str:
        return "/"

    def open_files(self, pid: int) -> tuple[OpenFile, ...]:
        return (OpenFile(1, os.path.realpath(self.log), writable=True),)

    def inode(self, pid: int, fd: int) -> int | None:
        return None

    def details(self, pid: int) -> Details:
        return Details()


def test_a_reused_pid_is_another_process(tmp_path: Path) -> None:
    table = OneProcess(tmp_path / "train.log", start_ticks=100)
    source = ProcessSource(ProbeContext(WatchSpec(logs=(str(table.log),))), table)
    assert [writer.start_ticks for writer in reading(source, now=10.0).writers] == [100]
    table.start_ticks = 900
    first, second = reading(source, now=11.0).writers
    assert (first.start_ticks, first.alive, first.gone_at) == (100, False, 11.0)
    assert (second.start_ticks, second.alive, second.started_at) == (900, True, 9.0)


def test_control_codes_in_a_command_line_do_not_reach_the_reading(tmp_path: Path) -> None:
    table = OneProcess(tmp_path / "train.log", start_ticks=100)
    (writer,) = reading(ProcessSource(ProbeContext(WatchSpec(logs=(str(table.log),))), table)).writers
    assert writer.command == "python train.py�[31m  --born=100"


def _tells_exit_codes() -> bool:
    """True where `PIDFD_GET_INFO` knows `PIDFD_INFO_EXIT`: Linux 6.15."""
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int(minor.partition("-")[0])) >= (6, 15)
