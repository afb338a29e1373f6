"""What is told of waits without the right to look: nothing is guessed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from hangtop.records.waiting import BlockedCall, WaitReading
from hangtop.system.waits import blocked_call as calls
from tests.fakes.launched import needs_root
from tests.fakes.processes import eventually, python, running
from tests.fakes.waits import end_of, wait_of

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

SLEEP = "import time; time.sleep(600)"
AS_NOBODY = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
LOOKER = (
    "import sys, msgspec\n"
    "from hangtop.system.processes.open_table import open_table\n"
    "from hangtop.system.waits.wait_reader import WaitReader\n"
    "pids = [int(word) for word in sys.argv[1:]]\n"
    "table = open_table(); table.refresh(()); WaitReader(table).look(pids)\n"  # loads its modules, which nobody may not read
    f"{AS_NOBODY}"
    "table = open_table(); table.refresh(())\n"
    "sys.stdout.buffer.write(msgspec.json.encode(WaitReader(table).look(pids)))\n"
)


def seen_by_nobody(*pids: int) -> WaitReading:
    """What a user without rights sees of these processes, in a process of its own."""
    argv = (sys.executable, "-c", LOOKER, *map(str, pids))
    answer = subprocess.run(argv, capture_output=True, check=True, cwd=Path(__file__).parents[2])
    return msgspec.json.decode(answer.stdout, type=WaitReading)


@needs_root
def test_a_process_of_another_user_is_told_without_its_call() -> None:
    with python(SLEEP) as process:
        wait_of(process, lambda thread: thread.call.kind == "sleep")
        (thread,) = seen_by_nobody(process.pid).threads
        assert (thread.call.state, thread.call.kind, thread.call.told_by) == ("S", None, "nothing")
        assert (thread.call.unread, thread.ends) == ("not permitted", ())


@needs_root
def test_a_holder_that_may_not_be_read_is_counted_and_not_guessed() -> None:
    """Nobody's process reads from a pipe that root's process has."""
    read, write = os.pipe()
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    with running("cat", stdin=read, stdout=subprocess.DEVNULL, **nobody) as reader, python(SLEEP, stdout=write) as writer:
        os.close(read)
        os.close(write)
        assert end_of(reader, "read", "pipe").pids == (writer.pid,)  # root sees it
        (thread,) = seen_by_nobody(reader.pid).threads
        assert (thread.call.kind, thread.ends[0].pids, thread.ends[0].known) == ("read", (), True)
        assert thread.ends[0].hidden >= 1


@needs_root
def test_the_user_of_a_hidden_server_is_told() -> None:
    serve = f"import socket\nserver = socket.create_server(('127.0.0.1', 0))\nprint(server.getsockname()[1], flush=True)\n{SLEEP}"
    with python(serve, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        port = server.stdout.readline().decode().strip()
        ask = ("bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}; exec cat <&3")
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        with running(*ask, **nobody) as client:
            assert end_of(client, "read", "tcp").pids == (server.pid,)
            (thread,) = seen_by_nobody(client.pid).threads
            assert (thread.ends[0].pids, thread.ends[0].uid, thread.ends[0].not_accepted) == ((), 0, True)


@needs_root
def test_a_process_of_another_user_is_told_to_root() -> None:
    read, write = os.pipe()
    with python("import os; os.read(0, 1)", stdin=read) as reader, python(f"{AS_NOBODY}{SLEEP}", stdout=write) as writer:
        os.close(read)
        os.close(write)
        eventually(lambda: Path(f"/proc/{writer.pid}/status").read_text().split("Uid:")[1].split()[0] == "65534", "its user")
        assert end_of(reader, "read", "pipe").pids == (writer.pid,)


def test_where_only_the_kernel_s_function_may_be_read_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Yama's ptrace_scope 1: `wchan` needs the right to read, `syscall` the right to trace."""
    real = calls.read_proc

    def refuse(path: str) -> bytes:
        if path.endswith("/syscall"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    with python(SLEEP) as process:
        wait_of(process, lambda thread: thread.call.kind == "sleep")
        monkeypatch.setattr(calls, "read_proc", refuse)
        call = calls.blocked_call(process.pid)
        if call.wchan is None:
            pytest.skip("this kernel hides wchan")
        assert (call.told_by, call.wait, call.kind, call.unread) == ("wchan", "sleep", None, "not permitted")


def test_a_poll_whose_memory_may_not_be_read_is_told_without_its_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    with python("import os, select; poll = select.poll(); poll.register(os.pipe()[0]); poll.poll()") as process:
        wait_of(process, lambda thread: thread.call.kind == "poll")
        monkeypatch.setattr(calls, "_memory", lambda *_: None)
        call = calls.blocked_call(process.pid)
        assert (call.kind, call.files, call.unread) == ("poll", (), "its memory may not be read")


def test_a_thread_that_never_stands_still_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory may belong to another call by then."""
    numbers = iter(range(1, 99))

    def moves(pid: int, tid: int) -> tuple[object, BlockedCall]:
        call = calls.parse_call(f"0 0x{next(numbers):x} 0 0 0 0 0 0 0", "x86_64")
        return call, BlockedCall(pid, tid, "S")

    monkeypatch.setattr(calls, "_look", moves)
    call = calls.blocked_call(1)
    assert (call.kind, call.files, call.unread) == (None, (), "it moves")
