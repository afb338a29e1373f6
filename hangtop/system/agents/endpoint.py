"""What `import hangtop.agent` starts in a training script, so that `hangtop eval` can ask that process.

A thread waits at a unix socket in a folder that only this user can open. Each request is Python code with a moment after which it
must not begin any more; its output goes to who asked, never into the log. Only the standard library is used. What is asked runs
beside the program's own threads and can change it as its own code could: `hangtop eval` shows the code first, and asks.

The answer needs Python's lock: a process that stands in C code which holds it, or is stopped, gives none.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import socket
import stat
import struct
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

MOST_ASKED_BYTES = 1 << 20
MOST_TOLD = 4_000_000
AT_ONCE = 4
"""Requests that may run at one time: one that never ends must not keep out the next."""
CREDENTIALS = struct.Struct("3i")
"""struct ucred: pid, uid, gid (unix(7), SO_PEERCRED)."""
COPIES = sys.version_info < (3, 13)
"""Whether the locals of a function's frame are a copy, one for each frame, also for its own `locals()` (PEP 667)."""
OUR_REFERENCES = 3
"""To a copy that nobody else keeps: of its frame, of our name, of the call that counts (Python 3.11 and 3.12)."""


def folder_of(uid: int) -> str:
    """Where the sockets of this user's processes are."""
    if os.path.isdir("/tmp"):
        return f"/tmp/hangtop-agent-{uid}"
    from tempfile import gettempdir  # 5 ms with what it imports

    return os.path.join(gettempdir(), f"hangtop-agent-{uid}")


def socket_of(uid: int, space: str, pid: int) -> str:
    """The socket of one process. `space`: the link of its pid namespace, in which it has this pid."""
    return os.path.join(folder_of(uid), f"{''.join(filter(str.isdigit, space))}-{pid}.sock")


def own_space() -> str:
    """Our pid namespace (namespaces(7)); empty where there is no /proc."""
    with contextlib.suppress(OSError):
        return os.readlink("/proc/self/ns/pid")
    return ""


def start() -> str:
    """Wait for requests from now on; a child that forks waits at its own socket. Returns the socket's path. Raises `OSError`."""
    path = _listen()
    os.register_at_fork(after_in_child=_listen_again)
    return path


class Seen(dict[str, Any]):
    """The names that asked code may use: its own, those of the frames of the main thread, the innermost first, then of
    `__main__`. Names that it sets are its own: the program's stay as they are."""

    def __init__(self) -> None:
        super().__init__(__name__="hangtop_asked")
        self._frames: list[FrameType] = []
        self._copies: dict[FrameType, dict[str, Any]] = {}
        frame: FrameType | None = sys._current_frames().get(threading.main_thread().ident or 0)
        while frame is not None:
            self._frames.append(frame)
            frame = frame.f_back

    def __missing__(self, name: str) -> Any:
        for above, frame in zip((None, *self._frames), self._frames, strict=False):
            names = self._names(frame, above, name)
            if name in names:
                return names[name]
        main = vars(sys.modules["__main__"])
        if name in main:
            return main[name]
        raise KeyError(name)

    def _names(self, frame: FrameType, above: FrameType | None, name: str) -> Mapping[str, Any]:
        """Those of a frame that may have this name. To take them of another one would renew its copy for nothing. `above`: what
        runs on top of it."""
        code = frame.f_code
        if not code.co_flags & CO_OPTIMIZED:
            return frame.f_locals
        if name not in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            return {}
        if not COPIES:
            return frame.f_locals
        tracer = getattr(frame.f_trace, "__code__", None)
        if above is not None and above.f_code is tracer:  # it may have set one in the copy, which it has still to write back
            raise NameError(f"{name} is left alone: a debugger stands in {code.co_name}")
        return self._copies.setdefault(frame, frame.f_locals)

    def forget(self) -> None:
        """Let go of all values. The copy of a frame's locals stays as long as the frame does, and a batch on the GPU with it: it
        is emptied, unless the program keeps it, too (`cfg = locals()`), or a tracer may be about to write it back."""
        may_empty = sys.gettrace() is None and sys.getprofile() is None
        self._frames.clear()
        while self._copies:
            frame, copied = self._copies.popitem()
            if may_empty and frame.f_trace is None and sys.getrefcount(copied) <= OUR_REFERENCES:
                copied.clear()
        self.clear()


def run(code: str, arguments: Mapping[str, str]) -> tuple[str, bool]:
    """What the code printed, with the value of its last expression; and whether it ended without an error. Never raises."""
    said: list[str] = []

    def say(*words: Any, sep: str | None = " ", end: str | None = "\n", **_: Any) -> None:
        said.append((" " if sep is None else sep).join(map(str, words)) + ("\n" if end is None else end))

    names = Seen()
    try:
        names.update(print=say, arguments=dict(arguments))
        tree = ast.parse(code)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<asked>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<asked>", "eval"), names)
            said += [] if value is None else [f"{value!r}\n"]
    except BaseException:  # whatever asked code does must not end the program's thread
        return "".join(said) + traceback.format_exc(), False
    finally:
        names.forget()
    return "".join(said), True


def answer(connection: socket.socket) -> None:
    """Answer one question over this connection."""
    _answer(connection, threading.Semaphore(0))


def _listen() -> str:
    folder = folder_of(os.geteuid())
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    at = os.lstat(folder)
    if not stat.S_ISDIR(at.st_mode) or at.st_uid != os.geteuid() or at.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a folder that only this user may open")
    path = socket_of(os.geteuid(), own_space(), os.getpid())
    for left in _left_by_the_dead(folder):
        with contextlib.suppress(OSError):
            os.unlink(left)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(path)
    server.listen(AT_ONCE)
    threading.Thread(target=_serve, args=(server,), name="hangtop agent", daemon=True).start()
    return path


def _left_by_the_dead(folder: str) -> Iterator[str]:
    """The sockets of processes that have ended, in our pid namespace; whoever had our pid before has ended."""
    space = "".join(filter(str.isdigit, own_space()))
    for name in os.listdir(folder):
        where, _, pid = name.removesuffix(".sock").partition("-")
        if where == space and pid.isdecimal() and (int(pid) == os.getpid() or not os.path.exists(f"/proc/{pid}")):
            yield os.path.join(folder, name)


def _listen_again() -> None:
    """In a child, which has the socket of its parent but not the thread."""
    with contextlib.suppress(OSError):
        _listen()


def _serve(server: socket.socket) -> None:
    free = threading.Semaphore(AT_ONCE)
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        if not free.acquire(blocking=False):
            connection.close()
            continue
        threading.Thread(target=_answer, args=(connection, free), name="hangtop asked", daemon=True).start()


def _answer(connection: socket.socket, free: threading.Semaphore) -> None:
    try:
        with connection, contextlib.suppress(OSError, ValueError, KeyError):
            connection.settimeout(5.0)
            _, uid, _ = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
            if uid not in (0, os.geteuid()):
                return
            asked = json.loads(_line(connection))
            if time.time() > float(asked["before"]):
                return
            began = time.monotonic()
            output, well = run(str(asked["code"]), asked.get("arguments") or {})
            told = {"output": output[:MOST_TOLD], "well": well, "took_s": round(time.monotonic() - began, 3)}
            connection.settimeout(30.0)
            connection.sendall(json.dumps(told).encode() + b"\n")
    finally:
        free.release()


def _line(connection: socket.socket) -> bytes:
    """One line. Raises `ValueError` for one that is too long."""
    parts: list[bytes] = []
    while not parts or not parts[-1].endswith(b"\n"):
        part = connection.recv(65_536)
        if not part or sum(map(len, parts)) > MOST_ASKED_BYTES:
            raise ValueError("no whole request")
        parts.append(part)
    return b"".join(parts)
