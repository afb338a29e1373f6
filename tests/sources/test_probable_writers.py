"""Who writes a log that nobody holds open."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.processes.leads import lead_words, surest
from hangtop.probe.processes.probable_writers import Clue, WrittenBytes, choose
from hangtop.probe.processes.process_source import ProcessSource
from hangtop.records.log import RankLog
from hangtop.records.process import ProcessReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.processes.linux import LinuxTable
from tests.fakes.processes import eventually, running

LINES = "import sys, time\nwhile True:\n    with open(sys.argv[1], 'a') as log: log.write('step\\n')\n    time.sleep(0.2)"
LOG = "/data/run7/train.log"


@contextmanager
def writing(log: Path, program: str = LINES) -> Iterator[int]:
    run = subprocess.Popen([sys.executable, "-c", program, log.name], cwd=log.parent, start_new_session=True)
    try:
        eventually(log.exists, "the first line")
        yield run.pid
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def look(log: Path, *, ranks: Mapping[int, RankLog] | None = None) -> ProcessReading:
    """One look at who writes this log. `ranks`: what the log says of them."""
    context = ProbeContext(WatchSpec(logs=(str(log),)))
    context.ranks = ranks or {}
    (reading,) = [value for value in ProcessSource(context).read(time.time()) if isinstance(value, ProcessReading)]
    return reading


def test_a_process_whose_command_line_names_a_log_that_is_opened_for_each_line_may_be_the_run(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with writing(log) as pid:
        reading = look(log)
        if not reading.writers:  # else it was met with the log open
            assert (reading.leads, reading.taken, reading.processes) == ((pid,), (), ())
            said = f"no process here is known to write the log; process {pid} names it on its command line: it may be the run"
            assert reading.note == said


def test_a_process_whose_pid_stands_in_the_log_is_taken_for_the_run(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with writing(log) as pid:
        reading = look(log, ranks={0: RankLog(0, pid=pid, lines=1)})
        if not reading.writers:
            assert (reading.leads, reading.taken) == ((), (pid,))
        assert [process.pid for process in reading.processes] == [pid]


TWO_RANKS = (
    "import os, subprocess, sys, time\n"
    'line = \'import sys; open(sys.argv[1], "a").write("step\\\\n"); sys.stdin.read()\'\n'
    "start = lambda rank: subprocess.Popen([sys.executable, '-c', line, sys.argv[1]], stdin=subprocess.PIPE,\n"
    "    env={**os.environ, 'RANK': str(rank), 'WORLD_SIZE': '2'})\n"
    "ranks = [start(rank) for rank in range(2)]\n"
    "ranks[0].wait()"
)
"""A launcher of two ranks that each write a line and then wait."""


def test_a_process_that_names_the_log_and_started_all_its_ranks_is_taken_for_the_run(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with writing(log, TWO_RANKS) as pid:
        eventually(lambda: log.read_text().count("step") == 2, "a line of each rank")
        eventually(lambda: not look(log).writers, "that they have closed it")
        of_two = {rank: RankLog(rank, lines=1) for rank in range(2)}
        assert look(log, ranks=of_two).taken == (pid,)
        assert look(log, ranks=of_two | {2: RankLog(2, lines=1)}).leads == (pid,), "a log of three ranks is not theirs"
        assert look(log, ranks={0: RankLog(0, lines=1)}).leads == (pid,), "one rank is any program"


COPIES = "import sys, time\nwhile True:\n    open('copy', 'wb').write(open(sys.argv[1], 'rb').read()); time.sleep(0.1)"


def test_an_uploader_that_writes_as_much_as_the_log_grows_is_not_taken_for_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1\n")
    with writing(log, COPIES) as pid:
        eventually((tmp_path / "copy").exists, "the first copy")
        log.write_text("step 2\n")
        reading = look(log, ranks={rank: RankLog(rank, lines=1) for rank in range(2)})
        assert not reading.taken
        assert not reading.processes
        assert set(reading.leads) <= {pid}  # none when it was met with the log open to read it


def test_who_has_never_written_a_byte_has_not_written_the_log_whatever_it_names(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with running(sys.executable, "-c", "import sys; sys.stdin.read()", "train.log", cwd=tmp_path, stdin=subprocess.PIPE):
        log.write_text("step 1\n")
        reading = look(log)
        assert (reading.leads, reading.taken, reading.note) == ((), (), None)


def test_who_writes_nothing_while_the_log_is_written_twice_has_not_written_it() -> None:
    table = LinuxTable()
    with running(
        sys.executable, "-u", "-c", "print(); input(); print(); input()", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdout.readline()
        table.refresh(())
        written, trees = WrittenBytes(table), {table.stats[run.pid].identity: [run.pid]}
        silent = [bool(written.rules_out(trees, log_at)) for log_at in (1.0, 1.0, 2.0, 3.0)]
        assert silent == [False, False, False, True], "one line may come between the look at the log and that at the counters"
        run.stdin.write(b"\n")
        run.stdin.flush()
        run.stdout.readline()
        assert not written.rules_out(trees, 4.0)


def test_what_was_taken_for_the_run_and_is_so_no_more_does_not_stay_among_its_processes(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with writing(log, TWO_RANKS) as pid:
        eventually(lambda: log.read_text().count("step") == 2, "a line of each rank")
        eventually(lambda: not look(log).writers, "that they have closed it")
        context = ProbeContext(WatchSpec(logs=(str(log),)))
        context.ranks = {0: RankLog(0, pid=pid, lines=1)}
        source = ProcessSource(context)
        (first,) = [value for value in source.read(time.time()) if isinstance(value, ProcessReading)]
        assert first.taken == (pid,)
        context.ranks = {}
        (second,) = [value for value in source.read(time.time()) if isinstance(value, ProcessReading)]
        assert (second.taken, second.leads, second.processes) == ((), (pid,), ())


def everyone(pids: object) -> list[int]:
    return sorted(pids)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(
    ("command", "cwd", "why"),
    [
        (("python", "a.py", "--log", LOG), "/home", "names it on its command line"),
        (("python", "a.py", "--log=train.log"), "/data/run7", "names it on its command line"),
        (("python", "a.py", "--out", "run7"), "/data", "names its folder on its command line"),
        (("python", "a.py"), "/data/run7", "works in its folder"),
        (("python", "train.py"), "/data", "works above its folder"),
        (("python", "server.py"), "/data", None),
        (("python", "train.py"), "/", None),
        (("python", "-m", "tensorboard.main", "--logdir", "/data/run7"), "/data", None),
    ],
)
def test_what_a_process_was_started_with_leads_to_it(command: tuple[str, ...], cwd: str, why: str | None) -> None:
    found = choose({7: Clue(command, cwd)}, {LOG}, everyone)
    assert {pid: lead.does for pid, lead in found.items()} == ({7: why} if why else {})


def test_two_programs_in_one_folder_may_both_be_the_run() -> None:
    clues = {7: Clue(("python", "a.py"), "/data/run7"), 8: Clue(("python", "b.py"), "/data/run7")}
    leads = surest(choose(clues, {LOG}, everyone))
    assert lead_words(leads).endswith("process 7 works in its folder, process 8 works in its folder: one of these may be the run")


def test_who_names_the_log_comes_before_who_works_in_its_folder() -> None:
    clues = {7: Clue(("python", "a.py"), "/data/run7"), 8: Clue(("python", "b.py", LOG), "/home")}
    assert list(surest(choose(clues, {LOG}, everyone))) == [8]


def possible(log: Path) -> list[int]:
    """Who may be the writer of this log, in one look."""
    reading = look(log)
    assert reading.writers == ()
    return [*reading.taken, *reading.leads]


READS = "import sys, time; log = open(sys.argv[1]); print(flush=True); time.sleep(600)"
SLEEPS = "import time; print(flush=True); time.sleep(600)"


@contextmanager
def started(*argv: str, folder: Path, out: Path | None = None) -> Iterator[int]:
    """A program in this folder, once it has said a line, to us or into a file of its own."""
    with ExitStack() as stack:
        stdout = subprocess.PIPE if out is None else stack.enter_context(out.open("wb"))
        run = stack.enter_context(running(sys.executable, "-u", "-c", *argv, cwd=folder, stdout=stdout))
        if out is not None:
            eventually(lambda: out.stat().st_size, "its first line")
        elif run.stdout is not None:
            run.stdout.readline()
        yield run.pid


def test_who_reads_the_log_that_its_command_line_names_is_not_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1\n")
    with started(READS, "train.log", folder=tmp_path):
        log.write_text("step 2\n")
        assert possible(log) == []


def test_a_run_in_the_same_folder_may_write_an_old_log_but_for_one_with_a_log_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "old.log"
    with started(SLEEPS, folder=tmp_path, out=tmp_path / "new.log"):
        log.write_text("step 1\n")
        assert possible(log) == []
    with started(SLEEPS, folder=tmp_path) as pid:
        log.write_text("step 2\n")
        assert possible(log) == [pid], "the only program of the folder, and its output goes elsewhere"


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_terminal_multiplexer_that_was_started_to_watch_the_log_is_not_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1\n")
    tmux = ("tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null")
    subprocess.run([*tmux, "new-session", "-d", f"tail -f {log}"], check=True, cwd=tmp_path)
    try:
        log.write_text("step 2\n")
        assert possible(log) == []
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


ORPHANED = (
    "import os, subprocess, sys\n"
    "quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}\n"
    "rank = dict(os.environ, RANK='1', WORLD_SIZE='2')\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], env=rank, **quiet)\n"
    "print(child.pid)"
)
"""A launcher that dies before its rank."""


def test_a_rank_that_outlived_its_launcher_may_be_left_by_the_run_whose_log_tells_of_that_rank(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    started = subprocess.run([sys.executable, "-c", ORPHANED], cwd=tmp_path, capture_output=True, text=True, check=True)
    pid = int(started.stdout)
    try:
        time.sleep(0.1)
        log.write_text("step 1\n")
        assert look(log, ranks={1: RankLog(1, lines=3)}).pointing == (pid,)
        assert look(log).pointing == (), "that it works in the folder is not enough"
    finally:
        os.kill(pid, signal.SIGKILL)
