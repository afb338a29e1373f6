"""The source that watches waits, on real processes: what moves, and what the process at the other end does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.waits.wait_source import WaitSource
from hangtop.records.ask import WaitsAsk
from hangtop.records.watch_spec import WatchSpec
from hangtop.records.watched_waits import WaitsReading, WatchedProcess
from hangtop.system.processes.table import Identity
from tests.fakes.processes import eventually, python
from tests.fakes.waits import doing, wait_of, watch

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only"),
    pytest.mark.xdist_group("watches"),
    pytest.mark.side_by_side,
]

SERVER = (
    "import socket, sys, time, threading\n"
    "server = socket.create_server(('127.0.0.1', 0))\n"
    "print(server.getsockname()[1], flush=True)\n"
    "own, _ = server.accept()\n"
)  # fmt: skip
CLIENT = "import socket, sys, time, threading; own = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
ASK = f"{CLIENT}own.sendall(b'ask')\nwhile True: own.recv(65536)"
SEND = f"{CLIENT}own.sendall(bytes(300_000_000))"
SPIN = "while True: pass"
DRIP = "own.recv(9)\nwhile True: own.sendall(bytes(700)); time.sleep(0.5)"
SIP = "while True: own.recv(4096); time.sleep(0.4)"
SLEEP = "own.recv(9)\ntime.sleep(600)"
BEAT = "threading.Thread(target=lambda: [(other.sendall(b'b'), time.sleep(0.2)) for _ in range(9999)], daemon=True).start()\n"
LOCK = "import fcntl, sys, time; file = open(sys.argv[1], 'a'); fcntl.flock(file, fcntl.LOCK_EX); print('has', flush=True)\n"


def port_of(server: subprocess.Popen[bytes]) -> str:
    assert server.stdout is not None
    return server.stdout.readline().decode().strip()


def told(process: subprocess.Popen[bytes], kind: str) -> tuple[str | None, str | None, int | None]:
    """What moves at the place where its first thread waits in a call of this kind; what the other end does, and its pid."""
    wait_of(process, lambda thread: thread.call.kind == kind)
    moved, side, _ = doing(process.pid)
    return moved, side and side.kind, side and side.pid


@pytest.mark.parametrize(
    ("server", "client", "kind", "moves"),
    [
        (DRIP, ASK, "receive", "receives"),
        (SIP, SEND, "send", "sends"),
        (SLEEP, SEND, "send", None),
    ],
    ids=["dripped", "sipped", "not taken"],
)
def test_bytes_of_a_connection(server: str, client: str, kind: str, moves: str | None) -> None:
    with python(SERVER + server, stdout=subprocess.PIPE) as far, python(client, port_of(far)) as near:
        # Its connection comes to its pace, and full buffers to their rest, a while after the first bytes.
        eventually(lambda: told(near, kind)[0] == moves, f"that it {moves or 'moves nothing'}")


def test_a_server_that_computes_sleeps_or_is_stopped() -> None:
    with python(f"{SERVER}own.recv(9)\n{SPIN}", stdout=subprocess.PIPE) as far, python(ASK, port_of(far)) as near:
        assert told(near, "receive") == (None, "works", far.pid)
        far.send_signal(signal.SIGSTOP)
        assert told(near, "receive") == (None, "stopped", far.pid)
    with python(SERVER + SLEEP, stdout=subprocess.PIPE) as far, python(ASK, port_of(far)) as near:
        wait_of(far, lambda thread: thread.call.kind == "sleep")
        assert told(near, "receive") == (None, "idle", far.pid)


def test_a_heartbeat_beside_it_is_no_life_of_client_or_server() -> None:
    beats = "other, _ = server.accept()\n" + BEAT + "own.recv(9)\ntime.sleep(600)"
    asks = CLIENT.rstrip() + "; other = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n" + BEAT
    with (
        python(SERVER + beats, stdout=subprocess.PIPE) as far,
        python(f"{asks}own.sendall(b'ask')\nown.recv(1)", port_of(far)) as near,
    ):
        wait_of(far, lambda thread: thread.call.kind == "sleep")
        assert told(near, "receive") == (None, "idle", far.pid)


def test_the_holder_of_a_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    for does, kind in ((SPIN, "works"), ("time.sleep(600)", "idle")):
        with python(LOCK + does, path, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            with python(LOCK, path) as waiter:
                assert told(waiter, "file lock")[1:] == (kind, holder.pid)
                holder.send_signal(signal.SIGSTOP)
                assert told(waiter, "file lock")[1:] == ("stopped", holder.pid)


def test_a_file_that_another_has_locked_while_one_asks_for_it(tmp_path: Path) -> None:
    """SQLite sleeps between two attempts to lock its file."""
    base = "import sqlite3, sys, time; base = sqlite3.connect(sys.argv[1], timeout=600, isolation_level=None)\n"
    own = f"{base}base.execute('create table rows (x)'); base.execute('begin immediate'); print('has', flush=True); "
    with python(f"{own}time.sleep(600)", str(tmp_path / "rows.db"), stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with python(f"{base}base.execute('insert into rows values (1)')", str(tmp_path / "rows.db")) as asks:
            (end,) = wait_of(asks, lambda thread: thread.locked).locked
            assert (end.object.path, end.pids) == (str(tmp_path / "rows.db"), (holder.pid,))
            assert holder.pid in {process.pid for process in watch(asks.pid).processes}
        assert wait_of(holder, lambda thread: thread.call.kind == "sleep").locked == (), "its own lock"


def test_a_child_that_waits_for_a_server_that_computes() -> None:
    runs = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[2], sys.argv[1]], capture_output=True)"
    with python(f"{SERVER}own.recv(9)\n{SPIN}", stdout=subprocess.PIPE) as far, python(runs, port_of(far), ASK) as near:
        eventually(lambda: told(near, "poll") == (None, "works", far.pid), "the child's question")


def test_a_fifo_that_nobody_writes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    with python("import sys; open(sys.argv[1]).read()", str(tmp_path / "go")) as reader:
        assert told(reader, "open")[1:] == ("nobody", None)


def test_a_process_that_ends_meanwhile_is_told_as_gone(tmp_path: Path) -> None:
    with python("import time; time.sleep(600)", cwd=tmp_path) as sleeper:
        wait_of(sleeper, lambda thread: thread.call.kind == "sleep")
        source = WaitSource(ProbeContext(WatchSpec()))
        parts = source.answer(WaitsAsk(1, (sleeper.pid, 4_194_300)), time.time())
        first = next(parts)
        assert isinstance(first, WaitsReading)
        assert [(process.pid, process.state, process.stood) for process in first.processes] == [(sleeper.pid, "S", True)]
        sleeper.kill()
        sleeper.wait()
        eventually(lambda: watch(sleeper.pid).processes == (), "its end")


def test_how_long_a_process_still_sleeps() -> None:
    for says in ("import time; time.sleep(500)", "import asyncio; asyncio.run(asyncio.sleep(500))"):
        with python(says) as sleeper:
            wait_of(sleeper, lambda thread: 100 < (thread.call.rest_s or 0.0) <= 500)
    with python("import time\nwhile True: time.sleep(0.2)") as poller:
        assert (wait_of(poller, lambda thread: thread.call.kind == "sleep").call.rest_s or 0.0) <= 0.2


def test_a_thread_that_yields_its_core_all_the_time_is_told_from_one_that_computes() -> None:
    """The reactor of a transport does the former (tensorpipe's, of torch rpc). The kernel takes samples of where time goes, which
    are few on a crowded machine: it may take more watches than one to tell."""
    with beside_a_sleeper("os.sched_yield()") as polls:
        told = eventually(
            lambda: next((each for each in watch(polls.pid).processes if each.polls), None), "a watch that tells it"
        )
        assert (len(told.polls), told.polled_s > 0) == (1, True)
    with beside_a_sleeper("hashlib.sha256(bytes(1 << 20))") as computes:
        told = eventually(lambda: next((each for each in watch(computes.pid).processes if each.cpu_s > 0.3), None), "a busy one")
        assert (told.polls, told.polled_s) == ((), 0.0)


@contextmanager
def beside_a_sleeper(turn: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose main thread sleeps, while another does this all the time."""
    asks = f"def run():\n  while True: {turn}\n"
    with python(f"import hashlib, os, threading, time\n{asks}threading.Thread(target=run).start()\ntime.sleep(600)") as process:
        wait_of(process, lambda thread: thread.call.kind == "sleep")
        yield process


def test_what_ray_s_daemons_and_we_tell_each_other_keeps_no_watch_open() -> None:
    """They are at the other ends of all workers, and a few of their bytes move in each second: a hung run was watched three times
    as long for them."""
    context = ProbeContext(WatchSpec())
    source = WaitSource(context)
    context.ray_daemons = frozenset({Identity(31_538, 700)})
    told = [WatchedProcess(pid, ticks, "S", "python") for pid, ticks in ((31_538, 700), (31_538, 900), (29_942, 800))]
    told.append(WatchedProcess(31_700, 1_000, "S", "python", "/usr/bin/python -m hangtop.probe"))
    assert source._of_the_run(told) == (told[1], told[2]), "of a pid that was reused nothing is known"
