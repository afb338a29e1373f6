"""Tracebacks that ended nothing, told by the order of the lines.

The interpreter says nothing more of its own after an exception that nobody caught, but for the noise of leaving. What it cannot
raise, as in a destructor, it prints under "Exception ignored" and goes on (CPython, sys.unraisablehook).
"""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.common.late_pattern import late_pattern
from hangtop.records.log import LogLine

_HEAD = late_pattern(r"\bTraceback \(most recent call last\):\s*$")
_IGNORED = late_pattern(r"^Exception ignored (?:in|while|on)\b")
_NUMBERS = late_pattern(r"[\d\s]+")
"""Numbers with the blanks that set them in columns: what is left is the form of a line."""


def without_ignored(lines: Sequence[LogLine]) -> tuple[LogLine, ...]:
    """The lines without what the interpreter says of errors that it ignores: the line that says so, the traceback, the error."""
    kept: list[LogLine] = []
    inside: set[tuple[int, int | None]] = set()
    for line in lines:
        writer = line.file, line.rank
        if _IGNORED.match(line.text):
            inside.add(writer)
        elif writer not in inside:
            kept.append(line)
        elif not (_HEAD.search(line.text) or _belongs(line.text)):
            inside.discard(writer)  # the error itself
    return tuple(kept)


def caught(lines: Sequence[LogLine]) -> int:
    """After how many tracebacks their writer went on before its next one: with a step, a stage, or a line of a form that it had
    written before the first. A message may have lines of its own, and these are none of the program's. Of a traceback without a
    rank the writer may be any."""
    open_of: dict[int | None, str] = {}
    forms: dict[int | None, set[str]] = {}
    count = 0
    for line in without_ignored(lines):
        state = open_of.get(line.rank, "")
        if line.rank not in open_of:
            forms.setdefault(line.rank, set()).add(_NUMBERS.sub(" ", line.text))
        if _HEAD.search(line.text):
            open_of[line.rank] = "frames"
        elif state == "frames" and not _belongs(line.text):
            open_of[line.rank] = "raised"
        elif _goes_on(line, forms[line.rank]):
            closed = [writer for writer in {line.rank, None} if open_of.get(writer) == "raised"]
            open_of |= dict.fromkeys(closed, "")
            count += len(closed)
    return count


def _goes_on(line: LogLine, forms: set[str]) -> bool:
    return line.kind in ("progress", "stage") or _NUMBERS.sub(" ", line.text) in forms


def _belongs(text: str) -> bool:
    """Whether a line is a frame, its source, or a break within a traceback."""
    return not text.strip() or text[0].isspace()
