"""A transfer is seen from both ends: by what its far side takes, whichever of its threads does, and by what lies there."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hangtop.records.watched_waits import WaitsReading
from tests.fakes.processes import python
from tests.fakes.waits import doing, wait_of

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only"),
    pytest.mark.xdist_group("transfers"),
    pytest.mark.side_by_side,
]

SERVER = """
import os, select, socket, sys, threading, time
address, small, quota, piece, pause_s = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
family = socket.AF_UNIX if address.startswith('/') else socket.AF_INET
server = socket.socket(family)
if small: server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
server.bind(address if family == socket.AF_UNIX else (address, 0))
server.listen(9)
print(address if family == socket.AF_UNIX else server.getsockname()[1], flush=True)
def take(own):
    body, taken = own.makefile('rb'), 0
    while True:
        while quota and taken >= quota: time.sleep(5)
        taken += len(body.read(piece))
        time.sleep(pause_s)
while True:
    if select.select([server], [], [], 0.5)[0]:
        threading.Thread(target=take, args=(server.accept()[0],), daemon=True).start()
"""
"""Takes pieces in a thread for each connection, as a threaded HTTP server does, and is seen to wait for requests."""
CONNECT = """
import asyncio, socket, sys, threading, time
def connect():
    if sys.argv[1].startswith('/'):
        own = socket.socket(socket.AF_UNIX)
        own.connect(sys.argv[1])
        return own
    return socket.create_connection((sys.argv[1].partition(':')[0], int(sys.argv[1].rpartition(':')[2])))
size = int(sys.argv[2])
"""
UPLOAD = f"{CONNECT}own = connect()\nown.sendall(bytes(size))\nown.recv(1)"
PINGS = f"""{CONNECT}
own = connect()
threading.Thread(target=lambda: [(time.sleep(0.3), own.sendall(b'ping')) for _ in range(9999)], daemon=True).start()
own.recv(1)
"""
POOL = f"""{CONNECT}
def upload():
    own = connect()
    own.sendall(bytes(size))
    own.recv(1)
threads = [threading.Thread(target=upload) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
LOOP = f"""{CONNECT}
async def upload():
    reader, writer = await asyncio.open_connection(sock=connect())
    writer.write(bytes(size))
    await reader.read(1)
async def main():
    await asyncio.gather(upload(), upload())
asyncio.run(main())
"""
FITS, TOO_MUCH = 150_000, 100_000_000
"""Bytes that lie in the kernel's buffers at once, and that never do."""
NOTHING = -1
"""As a quota."""


TAKEN_S = 6.0
"""On a crowded machine the far side needs so long to come to its first bytes and to take its quota."""


def uploads(
    address: str,
    client: str,
    kind: str,
    size: int,
    *,
    small: bool = True,
    quota: int = 0,
    piece: int = 1_000,
    pause_s: float = 0.5,
) -> tuple[str | None, str | None, WaitsReading]:
    """What moves where a client waits for this server, in a call of this kind; what the other end does."""
    given = (address, str(int(small)), str(quota), str(piece), str(pause_s))
    with python(SERVER, *given, stdout=subprocess.PIPE) as far:
        assert far.stdout is not None
        said = far.stdout.readline().decode().strip()
        with python(client, said if address.startswith("/") else f"{address}:{said}", str(size)) as near:
            wait_of(near, lambda thread: thread.call.kind == kind)
            if quota:
                time.sleep(TAKEN_S)
            moved, side, reading = doing(near.pid)
            return moved, side and side.kind, reading


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize(("kind", "size"), [("receive", FITS), ("send", TOO_MUCH)])
def test_a_thread_that_takes_bytes_behind_an_accept_loop(kind: str, size: int, small: bool) -> None:
    """What fits is taken in two minutes and a half: at twice this pace it was all gone before a crowded machine had looked."""
    assert uploads("127.0.0.1", UPLOAD, kind, size, small=small, pause_s=1.0)[0] == "sends"


@pytest.mark.parametrize(("kind", "size"), [("receive", FITS), ("send", TOO_MUCH)])
def test_a_piece_in_many_windows_is_waited_for(kind: str, size: int) -> None:
    """The reader's buffer takes 8 kB at once, and gives the program 2 kB every 3 s."""
    assert uploads("127.0.0.1", UPLOAD, kind, size, piece=2_000, pause_s=3.0)[0] == "sends"


@pytest.mark.parametrize(("kind", "size"), [("receive", FITS), ("send", TOO_MUCH)])
def test_a_thread_that_takes_no_byte_more(kind: str, size: int) -> None:
    moved, side, reading = uploads("127.0.0.1", UPLOAD, kind, size, quota=1_000)
    assert (moved, side) == (None, "idle")
    assert reading.seconds > 20, "a queue is watched for long before it is said to stand"


@pytest.mark.parametrize(("quota", "moved"), [(0, "sends"), (1_000, None)], ids=["taken", "not taken"])
@pytest.mark.parametrize(("kind", "size"), [("receive", FITS), ("send", TOO_MUCH)])
def test_unix_sockets(tmp_path: Path, kind: str, size: int, quota: int, moved: str | None) -> None:
    seen, side, _ = uploads(str(tmp_path / "s"), UPLOAD, kind, size, piece=4_000, quota=quota)
    assert seen == moved
    assert side == "idle" or not quota


@pytest.mark.parametrize(("client", "kind"), [(POOL, "futex"), (LOOP, "poll")], ids=["threads", "asyncio"])
@pytest.mark.parametrize("size", [FITS, TOO_MUCH])
def test_several_connections_at_once(client: str, kind: str, size: int) -> None:
    assert uploads("127.0.0.1", client, kind, size)[0] == "sends"


@pytest.mark.parametrize(("client", "kind"), [(POOL, "futex"), (LOOP, "poll")], ids=["threads", "asyncio"])
def test_several_connections_that_all_stand(client: str, kind: str) -> None:
    assert uploads("127.0.0.1", client, kind, FITS, quota=1_000)[0] is None


def test_pings_that_nobody_takes_are_no_transfer() -> None:
    """The other end's kernel acknowledges them."""
    assert uploads("127.0.0.1", PINGS, "receive", 0, quota=NOTHING)[:2] == (None, "idle")


PIPE = "import os, subprocess, sys; reader = subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdin=-1, bufsize=0)\n"
READS = """
import os, threading, time
def take():
    while True:
        time.sleep(0.4)
        os.read(0, 8192)
threading.Thread(target=take).start()
"""


@pytest.mark.parametrize(("reads", "moves"), [(READS, True), ("import time; time.sleep(600)", False)], ids=["takes", "sleeps"])
def test_a_writer_of_a_pipe_is_woken_by_a_reader_that_takes(reads: str, moves: bool) -> None:
    with python(f"{PIPE}os.write(reader.stdin.fileno(), bytes(100_000_000))", reads) as near:
        wait_of(near, lambda thread: thread.call.kind == "write")
        assert (doing(near.pid)[0] is not None) is moves
