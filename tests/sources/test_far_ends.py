"""Who holds the far end of a connection, as the program of a node tells it of real processes, and as it is read here."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hangtop.probe.nodes.node_link import Hello, NodeLink
from hangtop.probe.nodes.node_side.waits import tell_waits
from hangtop.probe.nodes.node_waits import FarProcess, FarWaits, far_process
from hangtop.records.nodes import node_of, pid_there
from hangtop.records.watched_waits import WatchedProcess
from hangtop.system.waits.sockets import raw_ends, tcp_requests
from tests.fakes.processes import eventually, python

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sock_diag(7)")
SERVER = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
line, _ = server.accept()
line.recv(3)
line.sendall(b"go")
{then}
"""


@contextmanager
def asked(then: str) -> Iterator[tuple[int, str, str]]:
    """(pid of a server, its end, our end) once it has answered the first time, and does `then`."""
    import subprocess

    with python(SERVER.format(then=then), stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(b"ask")
            assert line.recv(2) == b"go"
            yield server.pid, f"127.0.0.1:{port}", f"127.0.0.1:{line.getsockname()[1]}"


def told(local: str, remote: str, link: NodeLink) -> list[FarProcess]:
    """What a node says of who holds this end."""
    found: list[dict[str, Any]] = []
    ends = [end.hex() for end in raw_ends(local, remote)]
    requests = [request.hex() for request in tcp_requests()]
    tell_waits({"ask": 5, "ends": ends, "requests": requests, "samples": 2, "every_s": 0.05}, found.append)
    assert found[-1] == {"asked": 5}
    return [far_process(link, record) for record in found[:-1]]


@pytest.fixture
def link() -> NodeLink:
    import platform

    link = NodeLink(2, "n2", ("false",), {})
    link.hello = Hello(machine=platform.machine())
    return link


def test_the_holder_of_a_far_end_is_told_with_its_node_and_the_call_in_which_it_stands(link: NodeLink) -> None:
    with asked("line.recv(10)") as (pid, local, remote):
        far = eventually(
            lambda: [each for each in told(local, remote, link) if each.seen.threads[0].call.kind == "receive"], "it"
        )
    (process,) = far
    assert (pid_there(process.seen.pid), node_of(process.seen.pid), process.seen.host) == (pid, 2, "n2")
    assert (process.seen.state, process.seen.stood, process.seen.complete) == ("S", True, True)
    ((end,),) = (thread.ends for thread in process.seen.threads)
    assert (end.object.local, end.object.remote, end.object.reads) == (local, remote, True)
    row = process.sockets[local, remote]
    assert (row.received_bytes, row.acked_bytes) == (3, 2)
    assert process.seen.listens == (local.rpartition(":")[2],)


def test_a_sleep_there_is_told_with_its_end_by_the_clock_of_that_machine(link: NodeLink) -> None:
    with asked("time.sleep(600)") as (_, local, remote):
        far = eventually(lambda: [each for each in told(local, remote, link) if each.seen.threads[0].call.kind == "sleep"], "it")
    rest_s = far[0].seen.threads[0].call.rest_s
    assert rest_s is not None
    assert 500 < rest_s <= 600


def test_a_poll_there_is_told_with_the_connections_in_its_memory(link: NodeLink) -> None:
    with asked("line.settimeout(600); line.recv(10)") as (_, local, remote):
        far = eventually(lambda: [each for each in told(local, remote, link) if each.seen.threads[0].ends], "it")
    call, (end,) = far[0].seen.threads[0].call, far[0].seen.threads[0].ends
    assert (call.kind, call.timed, end.object.remote) == ("poll", True, remote)


def test_a_connection_that_nobody_there_has_is_told_of_nobody(link: NodeLink) -> None:
    assert told("127.0.0.1:1", "127.0.0.1:2", link) == []


TAKES = """
import fcntl, time
file = open({path!r}, "a")
fcntl.{how}(file, fcntl.LOCK_EX)
print("has it", flush=True)
time.sleep(600)
"""
SLEEPS = "import time; file = open({path!r}); print('sleeps', flush=True); time.sleep(600)"


@pytest.mark.parametrize("how", ["flock", "lockf"])
def test_who_has_the_lock_for_which_a_rank_there_waits_is_told_with_what_it_does(
    link: NodeLink, tmp_path: Path, how: str
) -> None:
    import subprocess

    path = str(tmp_path / "cache.lock")
    Path(path).touch()
    takes = TAKES.format(path=path, how=how)
    with (
        python(takes, stdout=subprocess.PIPE) as holder,
        python(SLEEPS.format(path=path), stdout=subprocess.PIPE) as sleeper,
    ):
        assert holder.stdout is not None
        assert sleeper.stdout is not None
        assert holder.stdout.readline() == b"has it\n"
        assert sleeper.stdout.readline() == b"sleeps\n"
        with python(takes) as waiter:
            far = eventually(lambda: locks_there(link, waiter.pid, sleeper.pid), "the three")
            ours, theirs, asleep = far[waiter.pid], far[holder.pid], far[sleeper.pid]
    (end,) = ours.threads[0].ends
    assert (ours.threads[0].call.kind, end.object.path, end.object.lock) == (
        "file lock",
        path,
        "FLOCK" if how == "flock" else "POSIX",
    )
    assert end.pids == (theirs.pid,)
    assert (theirs.host, theirs.threads[0].call.kind) == ("n2", "sleep")
    assert [each.pids for each in asleep.threads[0].locked] == [(theirs.pid,)], "it may sleep between two attempts"
    assert not theirs.threads[0].locked, "what it has locked itself keeps it from nothing"


def locks_there(link: NodeLink, waiter: int, sleeper: int) -> dict[int, WatchedProcess]:
    """By pid there, once the waiter stands in its call."""
    found: list[dict[str, Any]] = []
    requests = [request.hex() for request in tcp_requests()]
    ask = {"ask": 5, "ends": [], "requests": requests, "samples": 2, "every_s": 0.05, "members": [waiter, sleeper]}
    tell_waits(ask, found.append)
    seen = [far_process(link, record).seen for record in found[:-1]]
    told = {pid_there(each.pid): each for each in seen}
    return told if waiter in told and told[waiter].threads[0].ends else {}


def test_a_node_where_nobody_waits_for_a_lock_tells_nothing(link: NodeLink) -> None:
    found: list[dict[str, Any]] = []
    tell_waits({"ask": 5, "ends": [], "requests": ["broken"], "samples": 2, "every_s": 0.05, "members": [1 << 22]}, found.append)
    assert found == [{"asked": 5}], "no socket is asked for"


def test_a_node_that_answers_in_another_form_tells_nothing_and_ends_no_watch() -> None:
    link = NodeLink(2, "n2", ("false",), {})
    waits = FarWaits({2: link}, 5, {("10.0.0.1:1", "10.0.0.2:2")}, 2, 0.05)
    link._answers[waits._question].clear()
    link._answers[waits._question].append({"waits": 5, "pid": "many"})
    assert waits.answers() == []
    assert waits.is_open
    link._answers[waits._question].append({"asked": 5})
    waits.answers()
    assert not waits.is_open
