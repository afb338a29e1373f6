"""Asks a process that runs with `probing`: it takes code over HTTP at the abstract socket `@probing-PID` (seen with 0.2.4).

What such code prints goes into the program's own output. So it is only called to a socket of ours (`called_here`). Without
IPython that version keeps each code that it has run before the next one, so none but the first is run: ours has it forget itself.
"""

from __future__ import annotations

import os
import socket
from functools import partial
from http.client import HTTPConnection, HTTPException

from hangtop.system.agents.agent_client import Answer, NoAnswerError
from hangtop.system.agents.called_here import ask_called
from hangtop.system.agents.endpoint import CREDENTIALS
from hangtop.system.network.connections import is_on_our_network
from hangtop.system.processes.proc_files import read_optional, status_of

RUN = "/apis/pythonext/eval"
CONSOLE = "__import__('sys').modules.get('probing.repl')"
LIMIT_S = 10.0


def has_probing(pid: int) -> bool:
    """Whether its socket is there."""
    return is_on_our_network(pid) and f" @{_name(pid)}\n".encode() in (read_optional("/proc/net/unix") or b"")


def ask_probing(pid: int, start_ticks: int, code: str, arguments: dict[str, str], limit_s: float) -> Answer:
    """As `ask_agent`. Raises `NoAnswerError`."""
    try:
        return ask_called(pid, start_ticks, code, arguments, limit_s, partial(_call, pid, min(LIMIT_S, limit_s)))
    except TimeoutError as error:
        raise NoAnswerError(f"probing of pid {pid} gives no answer: the process holds Python's lock in C code") from error
    except (OSError, HTTPException) as error:
        raise NoAnswerError(f"probing of pid {pid} does not take the question: {error}") from error


def _call(pid: int, limit_s: float, expression: str) -> None:
    connection = HTTPConnection("probing")
    connection.sock = socket.socket(socket.AF_UNIX)
    try:
        connection.sock.settimeout(limit_s)
        connection.sock.connect(f"\0{_name(pid)}")
        peer, uid, _ = CREDENTIALS.unpack(connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
        if (peer, uid) != (pid, os.geteuid()):
            raise NoAnswerError(f"another process answers in place of pid {pid}: nothing was asked")
        connection.request("POST", RUN, f"({expression}, {CONSOLE} and {CONSOLE}.debug_console.resetbuffer(), None)[2]".encode())
        if (answer := connection.getresponse()).status != 200:
            raise NoAnswerError(f"probing of pid {pid} does not take the question: {answer.status}")
    finally:
        connection.close()


def _name(pid: int) -> str:
    """By the pid that the process itself has."""
    return f"probing-{status_of(pid).get('NSpid', str(pid)).split()[-1]}"
