"""Source lines around the user's frames, from plain files that are not too big."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil
from msgspec import Struct

from hangtop.common.clean_text import clean_text
from hangtop.records.stack import Excerpt, Frame, Stack
from hangtop.stacks.continues import continues
from hangtop.stacks.exit_handlers import runs_at_exit
from hangtop.stacks.frames import NO_FILE, own
from hangtop.stacks.loop_exits import awaited_sleeps, counts_out, loop_at, loop_line
from hangtop.system.processes.roles import code

AROUND = 4
MAX_FRAMES = 6
"""Shown user frames of one thread, innermost first."""
MAX_EXCERPTS = 48
MAX_FILE_BYTES = 4_000_000
LONGEST_LINE = 200
BOOT_TIME_ERROR_S = 2.0
"""Start times count from boot, and the time of boot is known to about a second (btime in proc(5))."""


class FileElsewhere(Struct, frozen=True):
    """A source file on another node: its whole path, the SHA-1 of its bytes, and whether it is newer than its process."""

    path: str
    sha1: str
    changed: bool = False


def around(stacks: Iterable[Stack], elsewhere: Mapping[str, FileElsewhere] | None = None) -> tuple[Excerpt, ...]:
    """The lines around the user's innermost frames, each place once for all ranks. `elsewhere`: the files of stacks that were
    taken on other nodes, by path; they are read here where the very same bytes are, as on a file system that nodes share."""
    found: dict[tuple[str, int], Excerpt] = {}
    known = tuple(stacks)
    unnamed = {
        _given(stack.pid) for stack in known if any(each.file == NO_FILE for thread in stack.threads for each in thread.frames)
    }
    for stack in known:
        for frame in (thread.frames[place] for thread in stack.threads for place in own(thread.frames)[:MAX_FRAMES]):
            at = frame.file, frame.line
            if at in found or len(found) >= MAX_EXCERPTS or (frame.file == NO_FILE and len(unnamed) > 1):
                continue  # two programs without a file cannot be told apart
            there = None if elsewhere is None else elsewhere.get(frame.file)
            excerpt = _alike(frame, there) if there is not None else None if elsewhere is not None else read(frame, stack.pid)
            if excerpt is not None:
                found[at] = excerpt
    return tuple(found.values())


def _alike(frame: Frame, there: FileElsewhere) -> Excerpt | None:
    """The lines of the file of this path here, if it is the same as there."""
    try:
        about = os.stat(there.path)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_FILE_BYTES:
            return None
        content = Path(there.path).read_bytes()
    except OSError:
        return None
    import hashlib  # 4 MB with OpenSSL, and most stacks are of files here

    if hashlib.sha1(content, usedforsecurity=False).hexdigest() != there.sha1:
        return None
    return _excerpt(content.decode("utf-8", "replace"), frame, changed=there.changed)


def _as_seen_by(pid: int, file: str) -> str:
    """The path by which we reach this process's file: a container has files of its own. Raises `OSError`."""
    inside = file if os.path.isabs(file) else os.path.join(os.readlink(f"/proc/{pid}/cwd"), file)
    root = f"/proc/{pid}/root"
    return root + inside if os.access(root, os.X_OK) else inside


def read(frame: Frame, pid: int) -> Excerpt | None:
    """The lines around one frame; `None` when they cannot be read."""
    if frame.file == NO_FILE:
        text = _given(pid)
        return _excerpt(text, frame, changed=False) if text is not None and _is_of(text, frame) else None
    try:
        path = _as_seen_by(pid, frame.file)
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_FILE_BYTES or frame.line < 1:
            return None
        changed = about.st_mtime > psutil.Process(pid).create_time() + BOOT_TIME_ERROR_S
        source = Path(path).read_text(encoding="utf-8", errors="replace")
    except (OSError, psutil.Error):  # no such file, or no right: the stack is shown without it
        return None
    return _excerpt(source, frame, changed=changed)


def _given(pid: int) -> str | None:
    """The program that this process was given on its command line."""
    try:
        return code(psutil.Process(pid).cmdline())
    except psutil.Error:  # gone, or no right
        return None


def _is_of(text: str, frame: Frame) -> bool:
    """Whether the frame may be of this program: code that `exec` made, as of a dataclass, names the same file."""
    return frame.function == "<module>" or re.search(rf"\bdef {re.escape(frame.function)}\(", text) is not None


def _excerpt(source: str, frame: Frame, *, changed: bool) -> Excerpt | None:
    first = max(1, frame.line - AROUND)
    lines = tuple(
        clean_text(line)[:LONGEST_LINE] for line in source.removesuffix("\n").split("\n")[first - 1 : frame.line + AROUND]
    )
    if len(lines) <= frame.line - first:
        return None
    if changed:
        return Excerpt(frame.file, first, lines, changed, frame.line)
    loop, begins = loop_at(source, frame.line), loop_line(source, frame.line)
    counted = loop == "ends" and counts_out(source, frame.line)
    left, lets_go = runs_at_exit(source, frame), continues(source, frame.line)
    return Excerpt(frame.file, first, lines, False, frame.line, loop, begins, awaited_sleeps(source), counted, left, lets_go)
