"""Source lines around the user's frames, from plain files that are not too big."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

import psutil

from hangtop.common.clean_text import clean_text
from hangtop.records.stack import Excerpt, Frame, Stack
from hangtop.stacks.frames import own
from hangtop.stacks.loop_exits import awaited_sleeps, loop_at, loop_line

AROUND = 4
MAX_FRAMES = 6
"""Shown user frames of one thread, innermost first."""
MAX_EXCERPTS = 48
MAX_FILE_BYTES = 4_000_000
LONGEST_LINE = 200
BOOT_TIME_ERROR_S = 2.0
"""Start times count from boot, and the time of boot is known to about a second (btime in proc(5))."""


def around(stacks: Iterable[Stack]) -> tuple[Excerpt, ...]:
    """The lines around the user's innermost frames, each place once for all ranks."""
    found: dict[tuple[str, int], Excerpt] = {}
    for stack in stacks:
        for frame in (thread.frames[place] for thread in stack.threads for place in own(thread.frames)[:MAX_FRAMES]):
            at = frame.file, frame.line
            if at not in found and len(found) < MAX_EXCERPTS and (excerpt := read(frame, stack.pid)):
                found[at] = excerpt
    return tuple(found.values())


def _as_seen_by(pid: int, file: str) -> str:
    """The path by which we reach this process's file: a container has files of its own. Raises `OSError`."""
    inside = file if os.path.isabs(file) else os.path.join(os.readlink(f"/proc/{pid}/cwd"), file)
    root = f"/proc/{pid}/root"
    return root + inside if os.access(root, os.X_OK) else inside


def read(frame: Frame, pid: int) -> Excerpt | None:
    """The lines around one frame; `None` when they cannot be read."""
    try:
        path = _as_seen_by(pid, frame.file)
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_FILE_BYTES or frame.line < 1:
            return None
        changed = about.st_mtime > psutil.Process(pid).create_time() + BOOT_TIME_ERROR_S
        first = max(1, frame.line - AROUND)
        source = Path(path).read_text(encoding="utf-8", errors="replace")
    except (OSError, psutil.Error):  # no such file, or no right: the stack is shown without it
        return None
    lines = tuple(
        clean_text(line)[:LONGEST_LINE] for line in source.removesuffix("\n").split("\n")[first - 1 : frame.line + AROUND]
    )
    if len(lines) <= frame.line - first:
        return None
    if changed:
        return Excerpt(frame.file, first, lines, changed, frame.line)
    loop, begins = loop_at(source, frame.line), loop_line(source, frame.line)
    return Excerpt(frame.file, first, lines, False, frame.line, loop, begins, awaited_sleeps(source))
