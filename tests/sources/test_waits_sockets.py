"""Sockets: which process is at the other end, and what the counters of TCP say. Real processes, ports of the kernel's choice."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hangtop.records.waiting import TcpSocket
from hangtop.system.waits import sock_diag, sockets
from tests.fakes.processes import eventually, python
from tests.fakes.waits import end_of, look

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")


@pytest.fixture(autouse=True, scope="module")
def _has_sock_diag() -> None:
    if sys.platform.startswith("linux"):
        try:
            sockets.read_tcp()
        except OSError as error:
            pytest.skip(f"this kernel or sandbox has no sock_diag: {error}")


SERVER = (
    "import socket, sys, time\n"
    "server = socket.create_server(('127.0.0.1', 0))\n"
    "print(server.getsockname()[1], flush=True)\n"
)  # fmt: skip
SPIN = "while True: pass"
SLEEP = "time.sleep(600)"
ASK = "import socket, sys; own = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); own.sendall(b'ask'); own.recv(1)"


def port_of(server: subprocess.Popen[bytes]) -> str:
    assert server.stdout is not None
    return server.stdout.readline().decode().strip()


def tcp_of(pid: int) -> TcpSocket:
    """Its one connection."""
    (row,) = (row for row in look(pid).sockets.get(pid, ()) if row.state != "listen")
    return row


def test_a_client_waits_for_the_server_that_is_stopped() -> None:
    serve = SERVER + "own, _ = server.accept()\nown.recv(9)\nown.recv(1)"
    with python(serve, stdout=subprocess.PIPE) as server, python(ASK, port_of(server)) as client:
        end_of(server, "receive", "tcp")
        server.send_signal(signal.SIGSTOP)
        end = end_of(client, "receive", "tcp")
        assert (end.pids, end.not_accepted, end.elsewhere) == ((server.pid,), False, False)
        assert end.object.local.startswith("127.0.0.1:")
        eventually(lambda: look(server.pid).threads[0].call.state == "T", "the stop")


def test_a_client_that_was_not_accepted_waits_for_the_listener() -> None:
    with python(SERVER + SLEEP, stdout=subprocess.PIPE) as server, python(ASK, port_of(server)) as client:
        end = end_of(client, "receive", "tcp")
        assert (end.pids, end.not_accepted) == ((server.pid,), True)


def test_an_ipv4_client_of_a_server_for_both_families_is_joined() -> None:
    dual = (
        "import socket, time\n"
        "server = socket.create_server(('::', 0), family=socket.AF_INET6, dualstack_ipv6=True)\n"
        "print(server.getsockname()[1], flush=True)\n"
        "own, _ = server.accept()\n"
        f"{SLEEP}"
    )
    if not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    with python(dual, stdout=subprocess.PIPE) as server, python(ASK, port_of(server)) as client:
        eventually(lambda: not (end := end_of(client, "receive", "tcp")).not_accepted and end.pids == (server.pid,), "the join")


def test_a_server_that_accepts_waits_for_nobody_in_particular() -> None:
    with python(SERVER + "server.accept()", stdout=subprocess.PIPE) as server:
        end = end_of(server, "accept", "tcp")
        assert (end.object.tcp_state, end.known, end.pids) == ("listen", False, ())


def test_a_sender_waits_for_the_slow_reader_and_what_was_acknowledged_grows() -> None:
    slow = "own, _ = server.accept()\nwhile True: own.recv(4096); time.sleep(0.001)"
    send = "import socket, sys; own = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); own.sendall(bytes(1 << 30))"
    with python(SERVER + slow, stdout=subprocess.PIPE) as server, python(send, port_of(server)) as client:
        end = end_of(client, "send", "tcp")
        assert (end.pids, end.object.writes) == ((server.pid,), True)
        before = tcp_of(client.pid)
        assert before.unacked_bytes
        assert before.acked_bytes is not None
        eventually(lambda: (tcp_of(client.pid).acked_bytes or 0) > (before.acked_bytes or 0), "more that is acknowledged")
        eventually(lambda: tcp_of(client.pid).window_limited_us, "time that the reader's window cost")


def test_what_a_download_receives_grows_and_is_read() -> None:
    """To memory: no file grows, and the process has no reads of its own to count."""
    give = "own, _ = server.accept()\nwhile True: own.sendall(bytes(4096)); time.sleep(0.001)"
    load = (
        "import socket, sys\n"
        "own = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "parts = []\n"
        "while True: parts.append(own.recv(4096))"
    )
    with python(SERVER + give, stdout=subprocess.PIPE) as server, python(load, port_of(server)) as client:
        before = eventually(lambda: tcp_of(client.pid) if look(client.pid).sockets else None, "a connection")
        assert before.received_bytes is not None
        eventually(lambda: (tcp_of(client.pid).received_bytes or 0) > (before.received_bytes or 0), "more that is received")


def test_what_nobody_reads_is_counted() -> None:
    serve = SERVER + f"own, _ = server.accept()\n{SLEEP}"
    with python(serve, stdout=subprocess.PIPE) as server, python(ASK, port_of(server)) as client:
        end_of(client, "receive", "tcp")
        eventually(lambda: look(server.pid).sockets and tcp_of(server.pid).unread_bytes == len(b"ask"), "what it did not read")
        assert tcp_of(client.pid).acked_bytes == len(b"ask") + 1  # the kernel counts the SYN


def test_a_process_of_another_network_namespace_is_told_without_counters() -> None:
    inside = (
        "import os, socket, subprocess\n"
        "os.unshare(os.CLONE_NEWNET) if hasattr(os, 'unshare') else __import__('ctypes').CDLL(None).unshare(0x40000000)\n"
        "subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "own = socket.create_connection(server.getsockname())\n"
        "own.recv(1)"
    )
    if os.geteuid() != 0 or not any(Path(place, "ip").exists() for place in ("/sbin", "/usr/sbin", "/bin", "/usr/bin")):
        pytest.skip("needs root and ip to make a namespace with a loopback")
    with python(inside) as process:
        end = end_of(process, "receive", "tcp")
        assert (end.pids, end.not_accepted) == ((process.pid,), True)
        assert all(row.received_bytes is None for row in look(process.pid).sockets[process.pid])


def test_a_socketpair_is_told_with_both_processes() -> None:
    program = (
        "import os, socket, time\n"
        "one, two = socket.socketpair()\n"
        "if os.fork():\n    two.close(); one.recv(1)\n"
        "one.close()\n"
        "time.sleep(600)"
    )
    with python(program) as parent:
        child = int(eventually(lambda: Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split(), "a child")[0])
        eventually(lambda: end_of(parent, "receive", "unix").pids == (child,), "the child alone")


@pytest.mark.parametrize("abstract", [False, True])
@pytest.mark.parametrize("accepts", [True, False])
def test_a_client_waits_for_the_unix_server_that_computes(tmp_path: Path, abstract: bool, accepts: bool) -> None:
    name = f"\0hangtop-{os.getpid()}-{tmp_path.name}" if abstract else str(tmp_path / "s")
    serve = (
        "import socket\n"
        "server = socket.socket(socket.AF_UNIX)\n"
        f"server.bind({name!r})\n"
        "server.listen(5)\n"
        "print('up', flush=True)\n"
        f"{'own, _ = server.accept()' if accepts else ''}\n"
        f"{SPIN}"
    )
    ask = f"import socket; own = socket.socket(socket.AF_UNIX); own.connect({name!r}); own.sendall(b'ask'); own.recv(1)"
    with python(serve, stdout=subprocess.PIPE) as server:
        assert port_of(server) == "up"
        with python(ask) as client:
            eventually(lambda: end_of(client, "receive", "unix").not_accepted is not accepts, "the server's turn")
            end = end_of(client, "receive", "unix")
            assert (end.pids, end.object.path) == ((server.pid,), name.replace("\0", "@"))


def test_an_error_of_the_kernel_is_an_error_and_not_no_sockets() -> None:
    request = sockets.INET_REQUEST.pack(sockets.AF_INET, 253, 0, sockets.EVERY_STATE)  # a protocol for experiments (RFC 3692)
    with pytest.raises(OSError, match=r"\S"):
        list(sock_diag.dump(request))


def test_without_sock_diag_the_addresses_of_tcp_are_still_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: bytes) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(sockets, "dump", refuse)
    with python(SERVER + SLEEP, stdout=subprocess.PIPE) as server, python(ASK, port_of(server)) as client:
        end = end_of(client, "receive", "tcp")
        assert (end.pids, end.not_accepted) == ((server.pid,), True)
        reading = look(client.pid)
        assert (reading.note or "").startswith("TCP sockets without counters: ")
        assert [row.acked_bytes for row in reading.sockets[client.pid]] == [None]
