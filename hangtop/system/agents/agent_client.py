"""Asks the agent in a process (`hangtop.agent`), and is sure that it is that process which answers."""

from __future__ import annotations

import os
import socket
import time

import msgspec
from msgspec import Struct

from hangtop.common.clean_text import clean_text
from hangtop.system.agents.endpoint import CREDENTIALS, socket_of
from hangtop.system.processes.linux import read_stat
from hangtop.system.processes.proc_files import namespace, status_of

MOST_BYTES = 16 << 20
OPT_IN = "import hangtop.agent"


class Answer(Struct, frozen=True):
    """`well`: the code ended without an error."""

    output: str
    well: bool
    took_s: float


class NoAnswerError(Exception):
    """Why there is none, in one line."""


def agent_path(pid: int) -> str | None:
    """The socket of the agent in this process, as seen from here; `None`: it has none, or we may not look."""
    path = expected_path(pid)
    return path if path and os.path.exists(path) else None


def expected_path(pid: int) -> str:
    """Where that socket would be; empty for a process that is gone, or another user's. In a container the process knows itself by
    another pid, and its folder lies in another root (pid_namespaces(7), proc(5))."""
    status, space = status_of(pid), namespace(pid, "pid")
    own_pids, users = status.get("NSpid", str(pid)).split(), status.get("Uid", "").split()
    if len(users) < 2 or space is None:
        return ""
    path = socket_of(int(users[1]), space, int(own_pids[-1]))
    return path if len(own_pids) == 1 else f"/proc/{pid}/root{path}"


def ask_agent(pid: int, start_ticks: int, code: str, arguments: dict[str, str], limit_s: float) -> Answer:
    """What it answers. The code begins within `limit_s` or never. Raises `NoAnswerError`."""
    path = agent_path(pid)
    if path is None:
        raise NoAnswerError(f"pid {pid} cannot be asked: it has not run `{OPT_IN}`")
    ends_at = time.monotonic() + limit_s
    asked = question(code, arguments, limit_s)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(limit_s)
            connection.connect(path)
            return exchange(connection, pid, start_ticks, asked, ends_at, limit_s)
    except TimeoutError as error:
        raise NoAnswerError(_too_late(pid, limit_s)) from error
    except OSError as error:
        raise NoAnswerError(f"pid {pid} does not take the question: {error.strerror or error}") from error


def question(code: str, arguments: dict[str, str], limit_s: float) -> bytes:
    """As it is sent: it begins within `limit_s` or never."""
    return msgspec.json.encode({"code": code, "arguments": arguments, "before": time.time() + limit_s}) + b"\n"


def exchange(connection: socket.socket, pid: int, start_ticks: int, asked: bytes, ends_at: float, limit_s: float) -> Answer:
    """Ask over this connection, and wait until `ends_at` on the monotonic clock. Raises `NoAnswerError`, `OSError`."""
    peer, _, _ = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    stat = read_stat(pid)
    if peer != pid or stat is None or stat.start_ticks != start_ticks:
        raise NoAnswerError(f"another process answers in place of pid {pid}: nothing was asked")
    try:
        connection.sendall(asked)
        return _answer(connection, ends_at)
    except TimeoutError as error:
        raise NoAnswerError(_too_late(pid, limit_s)) from error


def _too_late(pid: int, limit_s: float) -> str:
    return f"no answer within {limit_s:g} s: {_why_not(pid)}; what has not begun by then never will"


def _answer(connection: socket.socket, ends_at: float) -> Answer:
    parts: list[bytes] = []
    while not parts or not parts[-1].endswith(b"\n"):
        connection.settimeout(max(0.01, ends_at - time.monotonic()))
        part = connection.recv(1 << 16)
        if not part:
            raise NoAnswerError(
                "it closed the connection without an answer: too many ask it at once, or its clock is another one"
            )
        parts.append(part)
        if sum(map(len, parts)) > MOST_BYTES:
            raise NoAnswerError(f"its answer is longer than {MOST_BYTES >> 20} MiB")
    try:
        told = msgspec.json.decode(b"".join(parts), type=Answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NoAnswerError(f"its answer cannot be read: {error}") from error
    return Answer("\n".join(map(clean_text, told.output.split("\n"))), told.well, told.took_s)


def _why_not(pid: int) -> str:
    stat = read_stat(pid)
    if stat is None or stat.state in "ZX":
        return "it has ended"
    if stat.state in "tT":
        return f"it is stopped: kill -CONT {pid}"
    return "it holds Python's lock in C code, or the code takes longer (--within)"
