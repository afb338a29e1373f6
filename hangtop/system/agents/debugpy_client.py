"""Asks a process that has opened itself to a debugger with `debugpy.listen`: through debugpy's adapter it is told to come to a
socket of ours and to answer one question there, as an agent does (`agent_client`). Nothing stops it for that.

debugpy keeps a process of its own beside the program, the adapter: the program is connected to one of its ports, a debugger comes
to the other one. It speaks the Debug Adapter Protocol. It serves one debugger at a time, and a second one ends the session of the
first: so where one is attached, nobody is asked. The session is not configured to its end (`configurationDone`), so a program in
`debugpy.wait_for_client` waits on.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from hangtop.system.agents.agent_client import Answer, NoAnswerError
from hangtop.system.agents.called_here import ask_called
from hangtop.system.network.connections import ESTABLISHED, LISTEN, TcpConnection, is_on_our_network, read_connections
from hangtop.system.processes.proc_files import read_optional, status_of

FAREWELL_S = 1.0
"""For the end of the session, where the time is over."""
LONGEST_MESSAGE_BYTES = 4 << 20


class Adapter(Struct, frozen=True):
    """`taken`: a debugger is attached already."""

    address: str
    port: int
    taken: bool


def adapter_of(pid: int) -> Adapter | None:
    """The adapter through which this process can be asked; `None` where there is none, or it cannot be seen."""
    try:
        known = read_connections(pid)
        ours = _held(pid, known)
        for other in _adapters(os.geteuid()):
            theirs = _held(other, known)
            entrances = {each.local_port: each for each in theirs if each.state == LISTEN}
            reached = {each.remote_port for each in ours if each.state == ESTABLISHED} & entrances.keys()
            free = sorted(entrances.keys() - reached)
            if reached and free and is_on_our_network(pid):
                taken = any(each.state == ESTABLISHED and each.local_port == free[0] for each in theirs)
                return Adapter(entrances[free[0]].local_address, free[0], taken)
    except (OSError, ValueError):  # gone, or not ours to see
        pass
    return None


def _held(pid: int, known: list[TcpConnection]) -> list[TcpConnection]:
    """The connections that this process holds."""
    links: list[str] = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # closed meanwhile
            links.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    inodes = {int(link[8:-1]) for link in links if link.startswith("socket:[")}
    return [each for each in known if each.inode in inodes]


def _adapters(uid: int) -> Iterator[int]:
    """The adapters of this user: debugpy starts them as `python …/debugpy/adapter --for-server PORT`."""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        words = (read_optional(f"/proc/{name}/cmdline") or b"").split(b"\0")
        if b"--for-server" in words and any(word.endswith(b"debugpy/adapter") for word in words):
            owner = status_of(int(name)).get("Uid", "").split()[1:2]
            if owner == [str(uid)]:
                yield int(name)


def ask_debugged(pid: int, start_ticks: int, code: str, arguments: dict[str, str], limit_s: float) -> Answer:
    """As `ask_agent`. Raises `NoAnswerError`."""
    adapter = adapter_of(pid)
    if adapter is None or adapter.taken:
        raise NoAnswerError(f"pid {pid} cannot be asked through debugpy any more: a debugger came, or debugpy has ended")
    try:
        return ask_called(pid, start_ticks, code, arguments, limit_s, partial(_call, pid, adapter, limit_s))
    except TimeoutError as error:
        raise NoAnswerError(
            f"debugpy of pid {pid} gives no answer: the process holds Python's lock in C code, or is about to end"
        ) from error
    except OSError as error:
        raise NoAnswerError(f"debugpy of pid {pid} does not take the question: {error.strerror or error}") from error


def _call(pid: int, adapter: Adapter, limit_s: float, expression: str) -> None:
    ends_at = time.monotonic() + limit_s
    with socket.create_connection((adapter.address, adapter.port), limit_s) as connection:
        session = Session(connection, ends_at)
        session.request("initialize", adapterID="hangtop", pathFormat="path")
        session.send("attach", justMyCode=False, redirectOutput=False, subProcess=False)
        session.wait_for("event", "initialized")
        try:
            own_pid = status_of(pid).get("NSpid", str(pid)).split()[-1]
            if session.evaluate("__import__('os').getpid()") != own_pid:
                raise NoAnswerError(f"another process answers in place of pid {pid}: nothing was asked")
            session.evaluate(expression)
        finally:
            session.ends_at = max(ends_at, time.monotonic() + FAREWELL_S)
            session.request("disconnect", restart=False, terminateDebuggee=False)


class Session:
    """One session in the Debug Adapter Protocol: JSON behind a header that tells its length. What waits raises `TimeoutError` at
    `ends_at` on the monotonic clock, whatever comes until then."""

    def __init__(self, connection: socket.socket, ends_at: float) -> None:
        self.ends_at = ends_at
        self._connection, self._count, self._unread = connection, 0, b""

    def send(self, command: str, **arguments: Any) -> None:
        self._count += 1
        told = {"seq": self._count, "type": "request", "command": command, "arguments": arguments}
        body = msgspec.json.encode(told)
        self._connection.settimeout(self._left_s())
        self._connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        self.send(command, **arguments)
        return self.wait_for("response", command)

    def evaluate(self, expression: str) -> str:
        """The value as text. Raises `NoAnswerError` where it has none."""
        answer = self.request("evaluate", expression=expression, context="repl")
        if not answer.get("success"):
            why = (str(answer.get("message", "")).strip().splitlines() or ["no reason is told"])[-1]
            raise NoAnswerError(f"debugpy cannot run it: {why}")
        return str((answer.get("body") or {}).get("result", ""))

    def wait_for(self, kind: str, name: str) -> dict[str, Any]:
        """The next such message. A request that is refused ends it."""
        while True:
            told = self._message()
            if told.get("type") == kind and told.get("command" if kind == "response" else "event") == name:
                return told
            if told.get("type") == "response" and not told.get("success"):
                raise NoAnswerError(f"debugpy refuses: {told.get('message', 'no reason is told')}")

    def _message(self) -> dict[str, Any]:
        while b"\r\n\r\n" not in self._unread:
            self._take()
        head, _, self._unread = self._unread.partition(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" and value.strip().isdigit() else length
        if not 0 < length <= LONGEST_MESSAGE_BYTES:
            raise NoAnswerError("debugpy has closed the session")
        while len(self._unread) < length:
            self._take()
        body, self._unread = self._unread[:length], self._unread[length:]
        try:
            return msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise NoAnswerError(f"what debugpy says cannot be read: {error}") from error

    def _take(self) -> None:
        """Some more of what is said."""
        self._connection.settimeout(self._left_s())
        part = self._connection.recv(1 << 16)
        if not part or len(self._unread) > LONGEST_MESSAGE_BYTES:
            raise NoAnswerError("debugpy has closed the session")
        self._unread += part

    def _left_s(self) -> float:
        left_s = self.ends_at - time.monotonic()
        if left_s <= 0.0:
            raise TimeoutError
        return left_s
