"""In which system call a thread waits, and at which descriptors: real processes."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hangtop.records.waiting import ThreadWait
from hangtop.system.waits.blocked_call import blocked_call
from tests.fakes.frozen_disk import frozen_disk
from tests.fakes.processes import eventually, python
from tests.fakes.waits import end_of, look, wait_of

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "aarch64"), reason="reads /proc: Linux only"
)

TWO_SOCKETS = (
    "import select, socket\n"
    "ours, theirs = zip(socket.socketpair(), socket.socketpair())\n"
    "poll = select.poll()\n"
    "for each in ours: poll.register(each, select.POLLIN)\n"
)


def in_call(kind: str) -> Callable[[ThreadWait], bool]:
    return lambda thread: thread.call.kind == kind


@pytest.mark.parametrize(
    ("program", "kind", "timed"),
    [
        ("import time; time.sleep(600)", "sleep", True),
        ("import signal; signal.pause()", "signal", False),
        ("import signal; signal.sigtimedwait({signal.SIGUSR1}, 600)", "signal", True),
        ("import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()", "futex", False),
        ("import threading; lock = threading.Lock(); lock.acquire(); lock.acquire(timeout=600)", "futex", True),
        ("import select; select.select([], [], [], 600)", "poll", True),
    ],
)
def test_a_wait_that_no_other_process_ends_is_told_with_its_limit(program: str, kind: str, timed: bool) -> None:
    with python(program) as process:
        thread = wait_of(process, in_call(kind))
        assert (thread.call.timed, thread.call.told_by) == (timed, "syscall")
        assert {pid for end in thread.ends for pid in end.pids} <= {process.pid}


def test_a_poll_with_a_limit_tells_both_of_its_sockets() -> None:
    with python(TWO_SOCKETS + "poll.poll(600_000)") as process:
        thread = wait_of(process, in_call("poll"))
        assert [(end.object.kind, end.object.reads, end.object.writes, end.pids) for end in thread.ends] == [
            ("unix", True, False, (process.pid,))
        ] * 2
        assert thread.call.timed


def test_a_poll_that_a_stop_has_interrupted_is_told_as_before() -> None:
    """The kernel goes on with `restart_syscall`, whose number says nothing."""
    with python(TWO_SOCKETS + "poll.poll(600_000)") as process:
        before = wait_of(process, in_call("poll"))
        process.send_signal(signal.SIGSTOP)
        wait_of(process, lambda thread: thread.call.state == "T")
        process.send_signal(signal.SIGCONT)
        assert wait_of(process, in_call("poll")) == before
        restart = {"x86_64": "219", "aarch64": "128"}[platform.machine()]
        assert Path(f"/proc/{process.pid}/syscall").read_text().split()[0] == restart


def test_a_select_tells_its_sets() -> None:
    program = (
        "import os, select\n"
        "from_a, to_a = os.pipe()\n"
        "from_b, to_b = os.pipe()\n"
        "os.set_blocking(to_b, False)\n"
        "try:\n    while True: os.write(to_b, bytes(4096))\n"
        "except BlockingIOError: pass\n"
        "os.dup2(from_a, 100)\n"
        "select.select([100], [to_b], [])"
    )
    with python(program) as process:
        thread = wait_of(process, in_call("poll"))
        assert [(file.reads, file.writes) for file in thread.call.files] == [(False, True), (True, False)]
        assert thread.call.files[1].fd == 100
        assert [end.object.kind for end in thread.ends] == ["pipe", "pipe"]


def test_an_event_loop_waits_for_all_that_it_watches() -> None:
    program = (
        "import asyncio, os\n"
        "async def main():\n"
        "    read, write = os.pipe()\n"
        "    asyncio.get_running_loop().add_reader(read, print)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())"
    )
    with python(program) as process:
        thread = wait_of(process, lambda thread: thread.call.kind == "poll" and len(thread.ends) == 2)
        assert {(end.object.kind, end.pids) for end in thread.ends} == {("unix", (process.pid,)), ("pipe", (process.pid,))}
        assert not thread.call.timed


def test_a_descriptor_that_epoll_kept_after_it_was_closed_is_told_as_unknown() -> None:
    program = (
        "import os, select\n"
        "read, write = os.pipe()\n"
        "epoll = select.epoll()\n"
        "epoll.register(os.dup2(read, 50), select.EPOLLIN)\n"
        "kept = os.dup(50)\n"
        "os.close(50)\n"
        "epoll.poll()"
    )
    with python(program) as process:
        end = end_of(process, "poll", "unknown")
        assert (end.known, end.pids) == (False, ())


def test_a_futex_in_shared_memory_is_told_as_one_that_another_process_may_wake() -> None:
    program = "import multiprocessing; lock = multiprocessing.Lock(); lock.acquire(); lock.acquire()"
    with python(program) as process:
        end = end_of(process, "futex", "futex")
        assert (end.object.shared, end.pids, end.known) == (True, (), False)


def test_a_lock_of_one_process_waits_for_its_own_threads() -> None:
    with python("import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()") as process:
        end = end_of(process, "futex", "futex")
        assert (end.object.shared, end.pids, end.known) == (False, (process.pid,), True)


def test_on_request_all_threads_are_told() -> None:
    program = (
        "import os, threading, time\n"
        "read, write = os.pipe()\n"
        "threading.Thread(target=os.read, args=(read, 1)).start()\n"
        "time.sleep(600)"
    )

    def kinds(pid: int) -> set[str | None]:
        return {thread.call.kind for thread in look(pid, every_thread=True).threads}

    with python(program) as process:
        eventually(lambda: kinds(process.pid) == {"sleep", "read"}, "both threads")
        assert [thread.call.kind for thread in look(process.pid).threads] == ["sleep"]


def test_who_is_blocked_on_a_disk_is_told_with_the_file(tmp_path: Path) -> None:
    with frozen_disk(tmp_path) as disk:
        path = disk / "checkpoint.pt"
        with python(f"import os; os.open({str(path)!r}, os.O_WRONLY | os.O_CREAT)") as process:
            end = end_of(process, "open", "file")
            assert (end.object.path, end.object.writes, end.known) == (str(path), True, False)
            assert look(process.pid).threads[0].call.state == "D"
            subprocess.run(["fsfreeze", "-u", str(disk)], check=True)
            process.wait()
            subprocess.run(["fsfreeze", "-f", str(disk)], check=True)


def test_a_process_that_computes_waits_for_nothing() -> None:
    with python("while True: pass") as process:
        thread = wait_of(process, lambda thread: thread.call.state == "R")
        assert (thread.call.kind, thread.ends) == (None, ())


def test_who_is_gone_is_left_out() -> None:
    with python("") as process:
        process.wait()
        assert look(process.pid).threads == ()
        with pytest.raises(OSError, match="No such"):
            blocked_call(process.pid)


def test_a_child_is_told_to_its_parent_and_others_are_not() -> None:
    program = (
        "import subprocess, sys\n"
        "children = [subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']) for _ in range(2)]\n"
        "children[1].wait()"
    )
    with python(program) as process:
        waited = eventually(lambda: end_of(process, "child", "child").pids, "the wait, after that for its start")
        other = [pid for pid in children_of(process.pid) if pid not in waited]
        assert (len(waited), len(other)) == (1, 1)


def test_any_child_will_do_for_one_who_waits_for_any() -> None:
    program = "import os, time\nfor _ in range(2):\n    if not os.fork(): time.sleep(600)\nos.wait()"
    with python(program) as process:
        eventually(lambda: len(end_of(process, "child", "child").pids) == 2, "both children")
        assert set(end_of(process, "child", "child").pids) == children_of(process.pid)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd_open")
def test_a_poll_of_a_process_names_the_process() -> None:
    program = (
        "import os, select, time\n"
        "pid = os.fork()\n"
        "if not pid: time.sleep(600)\n"
        "poll = select.poll()\n"
        "poll.register(os.pidfd_open(pid), select.POLLIN)\n"
        "poll.poll()"
    )
    with python(program) as process:
        assert set(end_of(process, "poll", "process").pids) == children_of(process.pid)


def children_of(pid: int) -> set[int]:
    return {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def test_a_terminal_is_a_person_and_nobody_is_named() -> None:
    with python("import os; os.read(os.open('/dev/ptmx', os.O_RDWR), 1)") as process:
        end = end_of(process, "read", "terminal")
        assert (end.known, end.pids) == (False, ())


def test_who_waits_for_a_child_to_start_its_program_is_told(tmp_path: Path) -> None:
    """The program lies behind a FIFO that stands for a dead file server."""
    fifo = tmp_path / "input"
    os.mkfifo(fifo)
    program = (
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None)\n"
        f"path = ctypes.c_char_p({os.fsencode(fifo)!r})\n"
        "number = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]\n"
        "pid = libc.syscall(number, 0x4000 | 17, 0, 0, 0, 0)\n"  # CLONE_VFORK, SIGCHLD
        "if not pid: libc.open(path, os.O_RDONLY)\n"
    )
    with python(program) as process:
        end = end_of(process, "child", "child")
        assert (end.known, end.pids) == (False, ())
