"""Tracebacks that ended nothing, told by the order of the lines.

The interpreter says nothing more of its own after an exception that nobody caught, but for the noise of leaving. What it cannot
raise, as in a destructor, it prints under "Exception ignored" and goes on (CPython, sys.unraisablehook).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hangtop.records.log import LogLine

_HEAD = re.compile(r"\bTraceback \(most recent call last\):\s*$")
_IGNORED = re.compile(r"^Exception ignored (?:in|while|on)\b")
_CHAINED = re.compile(r"^(?:During handling of the above exception|The above exception was the direct cause)")


def without_ignored(lines: Sequence[LogLine]) -> tuple[LogLine, ...]:
    """The lines without what the interpreter says of errors that it ignores: the line that says so, the traceback, the error."""
    kept: list[LogLine] = []
    inside: int | None = None
    for line in lines:
        if _IGNORED.match(line.text):
            inside = line.file
        elif inside != line.file:
            kept.append(line)
        elif not (_HEAD.search(line.text) or _belongs(line.text)):
            inside = None  # the error itself
    return tuple(kept)


def caught(lines: Sequence[LogLine]) -> int:
    """After how many tracebacks the same rank wrote a line of its own, of whatever kind, before the next one."""
    open_of: dict[int | None, str] = {}
    count = 0
    for line in without_ignored(lines):
        state = open_of.get(line.rank, "")
        if _HEAD.search(line.text):
            open_of[line.rank] = "frames"
        elif state == "frames" and not _belongs(line.text):
            open_of[line.rank] = "raised"
        elif state == "raised" and not _belongs(line.text):
            open_of[line.rank] = ""
            count += _CHAINED.match(line.text) is None
    return count


def _belongs(text: str) -> bool:
    """Whether a line is a frame, its source, or a break within a traceback."""
    return not text.strip() or text[0].isspace()
