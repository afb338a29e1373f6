"""The files to which the ranks print on this node, and parts of them."""

from __future__ import annotations

import base64
import os
import stat
import time
from collections.abc import Callable, Collection
from typing import Any

from hangtop.probe.nodes.node_side.proc import fields, link, listed, raw_text, read, to_os

STREAMS, ENDINGS = ("1", "2"), (".log", ".out", ".err")
MOST_OUTPUTS, MOST_FILES = 4, 256
Say = Callable[[dict[str, Any]], None]


def outputs_of(pid: int, others: Collection[str]) -> list[list[Any]]:
    """[path, whether it is added to] of the plain files that are its output and its logs, but `others`: these are read."""
    found: dict[str, bool] = {}
    for name in sorted(listed(f"/proc/{pid}/fd")[:MOST_FILES], key=lambda name: (name not in STREAMS, int(name))):
        target = link(f"/proc/{pid}/fd/{name}")
        path = raw_text(target)
        if not target.startswith("/") or target.startswith("/dev/") or path in found or path in others:
            continue
        if name not in STREAMS and not target.endswith(ENDINGS):
            continue
        try:
            writes = os.lstat(f"/proc/{pid}/fd/{name}").st_mode & 0o200
            if writes and stat.S_ISREG(os.stat(f"/proc/{pid}/fd/{name}").st_mode):
                found[path] = bool(int(fields(read(f"/proc/{pid}/fdinfo/{name}")).get("flags", "0"), 8) & os.O_APPEND)
        except OSError:
            continue
    return [[path, added] for path, added in found.items()][:MOST_OUTPUTS]


def tell_part(ask: dict[str, Any], known: Collection[str], say: Say) -> None:
    """Of a file that a rank was seen to write, and of no other: `most` bytes from `first` on, else the last ones; none of what is
    there where it is to be read `from_end`."""
    told: dict[str, Any] = {"part": ask["ask"]}
    try:
        if ask["path"] not in known:
            raise OSError("no rank here writes it")
        file = os.open(to_os(ask["path"]), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode):
                raise OSError("it is no plain file any more")
            first = ask["first"]
            if first is None or first > about.st_size:
                first = about.st_size if ask["from_end"] else max(0, about.st_size - ask["most"])
            data = os.pread(file, ask["most"], first)
        finally:
            os.close(file)
        said = {"first": first, "size": about.st_size, "age_s": max(0.0, time.time() - about.st_mtime)}
        say(dict(told, **said, data=base64.b64encode(data).decode()))
    except OSError as error:
        say(dict(told, problem=error.strerror or str(error)))
    say({"asked": ask["ask"]})
