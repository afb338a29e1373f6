"""The stacks of processes, as py-spy takes them."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

from hangtop.probe.nodes.node_side.proc import TICKS_PER_S, as_text, boot_at, fields, link, raw_text, read, stat_of, tasks_of

AT_ONCE = 16
MOST_DUMP_BYTES = 4 << 20
LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3")
MOST_SOURCES, MOST_SOURCE_BYTES = 16, 4_000_000
Say = Callable[[dict[str, Any]], None]


def spy_for(pid: int) -> str | None:
    """The py-spy beside the Python of this process, else that of the PATH. What another user's process runs is not run as us."""
    ours = fields(read(f"/proc/{pid}/status")).get("Uid", "").split()[1:2] == [str(os.geteuid())]
    programs = (read(f"/proc/{pid}/cmdline").split(b"\0")[0].decode("utf-8", "replace"), link(f"/proc/{pid}/exe"))
    tools = [os.path.join(os.path.dirname(program), "py-spy") for program in programs if ours and program.startswith("/")]
    return next((tool for tool in tools if os.access(tool, os.X_OK)), None) or shutil.which("py-spy")


def dump(pid: int, limit_s: float) -> tuple[str | None, str | None]:
    """What py-spy says of one process: (its JSON, or `None`, and why not)."""
    tool = spy_for(pid)
    if tool is None:
        return None, "py-spy not found"
    argv = [tool, "dump", "--json", "--nonblocking", "--pid", str(pid)]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return None, f"no answer within {limit_s:g} s" if isinstance(error, subprocess.TimeoutExpired) else str(error)
    if done.returncode == 0 and len(done.stdout) <= MOST_DUMP_BYTES:
        return as_text(done.stdout), None
    said = [line.strip() for line in as_text(done.stderr).splitlines() if line.strip()]
    return None, said[0] if said else "py-spy failed and said nothing"


def sources_of(pid: int, spied: str, started_at: float) -> dict[str, list[Any]]:
    """By name, of the program's own source files in a dump: SHA-1, whether it is newer than the process, and its whole path."""
    names = {frame["filename"] for thread in json.loads(spied) for frame in thread["frames"]}
    found: dict[str, list[Any]] = {}
    folder = link(f"/proc/{pid}/cwd")
    for name in sorted(name for name in names if name.endswith(".py") and not any(part in name for part in LIBRARIES)):
        path = os.path.join(folder, name)
        root = f"/proc/{pid}/root{path}"
        try:
            about = os.stat(root)
        except OSError:
            continue
        if len(found) < MOST_SOURCES and about.st_size <= MOST_SOURCE_BYTES:
            found[name] = [
                hashlib.sha1(read(root), usedforsecurity=False).hexdigest(),
                about.st_mtime > started_at + 2.0,
                raw_text(path),
            ]
    return found


def take_stacks(ask: dict[str, Any], say: Say) -> None:
    """Answers one question: each stack as it comes, then the end."""
    todo: queue.Queue[int] = queue.Queue()
    for pid in ask["pids"]:
        todo.put(pid)

    def work() -> None:
        while True:
            try:
                pid = todo.get_nowait()
            except queue.Empty:
                return
            known = stat_of(pid)
            if known is None:
                say({"stack": ask["ask"], "pid": pid, "error": "the process is gone"})
                continue
            found, error = dump(pid, ask["limit_s"])
            if found is None and "stack trace" in (error or "").lower():  # it read while the stack changed
                found, error = dump(pid, ask["limit_s"])
            row = {"stack": ask["ask"], "pid": pid, "at": time.time(), "start": known[0][6], "state": known[1][0]}
            started_at = boot_at() + known[0][6] / TICKS_PER_S
            sources = sources_of(pid, found, started_at) if found else {}
            say(dict(row, dump=found, error=error, tasks=tasks_of(pid), sources=sources))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(AT_ONCE, len(ask["pids"])))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * ask["limit_s"])
    say({"asked": ask["ask"]})
