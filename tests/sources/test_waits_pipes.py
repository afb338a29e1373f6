"""Pipes, FIFOs and locks on files: which process holds the other end. Real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hangtop.diagnosis.facts.wait_graph import dead_locks, wait_graph
from tests.fakes.processes import eventually, python
from tests.fakes.waits import end_of, look

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

READ = "import os; os.read(0, 1)"
SLEEP = "import time; time.sleep(600)"


@contextmanager
def across_a_pipe(reader: str, writer: str) -> Iterator[tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """Two programs, the standard output of the second one is the standard input of the first one; nobody else holds the pipe."""
    read, write = os.pipe()
    try:
        with python(reader, stdin=read) as first, python(writer, stdout=write) as second:
            os.close(read)
            os.close(write)
            read = write = -1
            yield first, second
    finally:
        for fd in {read, write} - {-1}:
            os.close(fd)


def test_a_reader_waits_for_the_writer_that_sleeps() -> None:
    with across_a_pipe(READ, SLEEP) as (reader, writer):
        end = end_of(reader, "read", "pipe")
        assert (end.pids, end.object.reads, end.known) == ((writer.pid,), True, True)


def test_a_writer_waits_for_the_reader_that_sleeps() -> None:
    with across_a_pipe(SLEEP, "import os\nwhile True: os.write(1, bytes(65536))") as (reader, writer):
        end = end_of(writer, "write", "pipe")
        assert (end.pids, end.object.writes) == ((reader.pid,), True)


def test_all_that_hold_the_end_to_be_written_are_told() -> None:
    """A child that inherited it keeps the reader waiting just as well."""
    with across_a_pipe(READ, f"import os\nos.fork()\n{SLEEP}") as (reader, writer):
        eventually(lambda: len(end_of(reader, "read", "pipe").pids) == 2, "both")
        assert writer.pid in end_of(reader, "read", "pipe").pids


def test_who_holds_both_ends_waits_for_himself() -> None:
    """The classic fault: the end to be written was not closed after the fork."""
    with python("import os; read, write = os.pipe(); os.read(read, 1)") as process:
        assert end_of(process, "read", "pipe").pids == (process.pid,)
        assert [lock.pids for lock in dead_locks(wait_graph(look(process.pid, every_thread=True)))] == [(process.pid,)]


def test_two_that_read_from_each_other_are_a_dead_lock() -> None:
    program = (
        "import os\n"
        "a_read, a_write = os.pipe()\n"
        "b_read, b_write = os.pipe()\n"
        "if os.fork():\n"
        "    os.close(a_write); os.close(b_read); os.read(a_read, 1)\n"
        "else:\n"
        "    os.close(b_write); os.close(a_read); os.read(b_read, 1)"
    )
    with python(program) as parent:
        child = int(eventually(lambda: Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split(), "a child")[0])
        eventually(lambda: end_of(parent, "read", "pipe").pids == (child,), "the parent")
        eventually(lambda: end_of(child, "read", "pipe").pids == (parent.pid,), "the child")
        found = dead_locks(wait_graph(look(parent.pid, child, every_thread=True)))
        assert [set(lock.pids) for lock in found] == [{parent.pid, child}]
        assert {(edge.waiter, edge.holder) for edge in found[0].edges} == {(parent.pid, child), (child, parent.pid)}


def test_a_fifo_is_told_by_its_path(tmp_path: Path) -> None:
    fifo = tmp_path / "work.fifo"
    os.mkfifo(fifo)
    writer = f"import time; file = open({str(fifo)!r}, 'w'); time.sleep(600)"
    with python(f"import os; os.read(os.open({str(fifo)!r}, os.O_RDONLY), 1)") as reading, python(writer) as writing:
        end = end_of(reading, "read", "fifo")
        assert (end.object.path, end.pids) == (str(fifo), (writing.pid,))


def test_who_opens_a_fifo_that_nobody_writes_waits_for_nobody(tmp_path: Path) -> None:
    fifo = tmp_path / "nobody.fifo"
    os.mkfifo(fifo)
    with python(f"import os; os.chdir({str(tmp_path)!r}); open('nobody.fifo')") as reading:
        end = end_of(reading, "open", "fifo")
        assert (end.object.path, end.object.reads, end.pids, end.known) == (str(fifo), True, (), True)


TAKE = "import fcntl, sys, time; file = open(sys.argv[1], 'r+'); fcntl.{call}(file, fcntl.{how}); print('has', flush=True); "


def lock_program(call: str, how: str = "LOCK_EX", then: str = "time.sleep(600)") -> str:
    return TAKE.format(call=call, how=how) + then


@contextmanager
def holding(path: Path, program: str) -> Iterator[subprocess.Popen[bytes]]:
    path.touch()
    with python(program, str(path), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"has\n"
        yield process


@pytest.mark.parametrize(("call", "kind"), [("flock", "FLOCK"), ("lockf", "POSIX")])
def test_the_holder_of_a_lock_is_told(tmp_path: Path, call: str, kind: str) -> None:
    path = tmp_path / "step.lock"
    with holding(path, lock_program(call)) as holder, python(lock_program(call), str(path)) as waiting:
        end = end_of(waiting, "file lock", "file lock")
        assert (end.pids, end.object.lock, end.object.path, end.all_needed) == ((holder.pid,), kind, str(path), False)


def test_the_third_waits_for_the_holder_and_not_for_the_second(tmp_path: Path) -> None:
    path = tmp_path / "step.lock"
    program = lock_program("flock")
    with holding(path, program) as holder, python(program, str(path)) as second, python(program, str(path)) as third:
        assert end_of(second, "file lock", "file lock").pids == (holder.pid,)
        assert end_of(third, "file lock", "file lock").pids == (holder.pid,)


@pytest.mark.parametrize("call", ["flock", "lockf"])
def test_a_lock_shared_by_several_needs_all_of_them(tmp_path: Path, call: str) -> None:
    path = tmp_path / "step.lock"
    shared = lock_program(call, "LOCK_SH")
    with holding(path, shared) as one, holding(path, shared) as two, python(lock_program(call), str(path)) as waiting:
        end = end_of(waiting, "file lock", "file lock")
        assert (end.pids, end.all_needed) == (tuple(sorted((one.pid, two.pid))), True)


def test_a_lock_that_outlived_the_process_which_took_it_is_told_by_who_holds_it_now(tmp_path: Path) -> None:
    """`/proc/locks` still names the first pid."""
    path = tmp_path / "step.lock"
    inherits = lock_program("flock", then="import os\nif os.fork(): os._exit(0)\ntime.sleep(600)")
    with holding(path, inherits) as holder, python(lock_program("flock"), str(path)) as waiting:
        os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
        (heir,) = end_of(waiting, "file lock", "file lock").pids
        assert heir != holder.pid
        assert Path(f"/proc/{heir}/cmdline").read_bytes().endswith(f"{path}\0".encode())


def test_a_lock_of_an_open_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "step.lock"
    take = (
        "import fcntl, struct, sys, time\n"
        "file = open(sys.argv[1], 'r+')\n"
        "fcntl.fcntl(file, 38, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0))\n"  # F_OFD_SETLKW
        "print('has', flush=True)\n"
        "time.sleep(600)"
    )
    with holding(path, take) as holder, python(take, str(path)) as waiting:
        end = end_of(waiting, "file lock", "file lock")
        assert (end.pids, end.object.lock) == ((holder.pid,), "OFDLCK")
