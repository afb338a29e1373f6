"""Source lines around the user's frames, read once a look. Only files that are plainly files, and not too big."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from hangtop.common.clean_text import clean_text
from hangtop.records.stack import Excerpt, Frame, Stack
from hangtop.stacks.frames import own
from hangtop.stacks.loop_exits import loop_at

AROUND = 4
MAX_FRAMES = 6
"""Own frames of one thread that are worth showing, innermost first."""
MAX_EXCERPTS = 48
MAX_FILE_BYTES = 4_000_000
LONGEST_LINE = 200
BOOT_TIME_ERROR_S = 2.0
"""A process's start is known from boot on, and the time of boot only to about a second (btime in proc(5))."""


def around(stacks: Iterable[Stack]) -> tuple[Excerpt, ...]:
    """The lines around the user's innermost frames, each place once, whatever the number of ranks that stand there."""
    found: dict[tuple[str, int], Excerpt] = {}
    for pid, frame in _places(stacks):
        if (frame.file, frame.line) in found or len(found) >= MAX_EXCERPTS:
            continue
        if excerpt := read(frame, pid):
            found[frame.file, frame.line] = excerpt
    return tuple(found.values())


def _places(stacks: Iterable[Stack]) -> Iterator[tuple[int, Frame]]:
    for stack in stacks:
        for thread in stack.threads:
            for place in own(thread.frames)[:MAX_FRAMES]:
                yield stack.pid, thread.frames[place]


def _as_seen_by(pid: int, file: str) -> str:
    """A container has files of its own, maybe of the same name as others here. Raises `OSError`."""
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
    return Excerpt(frame.file, first, lines, changed, frame.line, None if changed else loop_at(source, frame.line))
