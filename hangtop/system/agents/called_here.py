"""A process in which another tool can run code is called to a socket of ours, where it answers one question as an agent does
(`agent_client`): so its words come to who asks, and the tool's own way of running code is used for one line."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hangtop.system.agents import endpoint
from hangtop.system.agents.agent_client import Answer, NoAnswerError, exchange, question

LONGEST_PATH_BYTES = 107
"""unix(7): `sun_path` has 108, and a zero at its end."""


def ask_called(
    pid: int, start_ticks: int, code: str, arguments: dict[str, str], limit_s: float, call: Callable[[str], None]
) -> Answer:
    """The answer. `call`: has the process run this expression. Raises `NoAnswerError`, and what `call` raises."""
    ends_at = time.monotonic() + limit_s
    asked = question(code, arguments, limit_s)
    with tempfile.TemporaryDirectory(prefix="hangtop-asks-") as folder, socket.socket(socket.AF_UNIX) as door:
        path = os.path.join(folder, "answer.sock")
        if len(os.fsencode(path)) > LONGEST_PATH_BYTES:
            raise NoAnswerError(
                f"{tempfile.gettempdir()} is too long a path for a socket: set TMPDIR to a shorter one, such as /tmp"
            )
        door.bind(path)
        door.listen(1)
        source = f"{Path(endpoint.__file__).read_text()}\nanswer(connection)\n".encode()
        call(_come_to(path, len(source)))
        door.settimeout(max(0.01, ends_at - time.monotonic()))
        try:
            answers, _ = door.accept()
        except TimeoutError as error:
            raise NoAnswerError(f"pid {pid} did not come to answer: it holds Python's lock, or does not see our files") from error
        with answers:
            return exchange(answers, pid, start_ticks, source + asked, ends_at, limit_s)


def _come_to(path: str, count: int) -> str:
    """One expression, whose value is `None`: a thread comes to this socket and runs so many bytes that it gets there. Where
    nobody waits any more, nothing happens. It is short, for tools write what they cannot run into the program's output."""
    lines = (
        "import socket, threading",
        "connection = socket.socket(socket.AF_UNIX)",
        "def run():",
        f"    code = connection.recv({count}, socket.MSG_WAITALL)",
        f"    if len(code) == {count}: exec(code, {{'__name__': 'hangtop_asked', 'connection': connection}})",
        f"if connection.connect_ex({path!r}) == 0:",
        "    threading.Thread(target=run, name='hangtop asked', daemon=True).start()",
    )
    return f"exec({chr(10).join(lines)!r}, {{}})"
