"""Tracebacks that ended nothing, told by the order of the lines.

The interpreter says nothing more of its own after an exception that nobody caught, but for the noise of leaving. What it cannot
raise, as in a destructor, it prints under "Exception ignored" and goes on (CPython, sys.unraisablehook).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from hangtop.common.late_pattern import late_pattern
from hangtop.diagnosis.facts.line_form import form_of
from hangtop.records.log import LogLine

_HEAD = late_pattern(r"\bTraceback \(most recent call last\):\s*$")
_IGNORED = late_pattern(r"^Exception ignored (?:in|while|on)\b|^Error in atexit\._run_exitfuncs:")
_RECORD = late_pattern(r"(?:^|[\s\[|:])(?:ERROR|WARNING|WARN|CRITICAL|EXCEPTION)\b")
"""A logger's line on an error. It prints the traceback right below (logging.Logger.exception)."""
_OUTERMOST = late_pattern(r"in (?:<module>|_run_code|_run_module_as_main|_bootstrap\w*|_wrap|_?worker\w*|_process_worker)\s*$")
"""The first frame of an error that nobody caught: that of the program, of the thread, or of the worker of a pool, itself."""
_CHAIN = late_pattern(r"^(?:During handling of the above exception|The above exception was the direct cause)\b")


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


def before_logged(lines: Sequence[LogLine]) -> tuple[LogLine, LogLine] | None:
    """The last line before the errors that a logger wrote at the very end, and the first line of these. Such a traceback stands
    below a record, and begins at the frame that caught the error: one that nobody caught begins at the program's own."""
    kept = [line for line in without_ignored(lines) if line.text.strip()]
    cut = len(kept)
    while (begins := _logged_last(kept[:cut])) is not None:
        cut = begins
    return (kept[cut - 1], kept[cut]) if 0 < cut < len(kept) else None


def _logged_last(lines: Sequence[LogLine]) -> int | None:
    """The place of the record whose traceback these lines end with."""
    head = next((place for place in range(len(lines) - 1, 0, -1) if _HEAD.search(lines[place].text)), None)
    if head is None or not _RECORD.search(f"{lines[head - 1].prefix} {lines[head - 1].text}"):
        return None
    if _OUTERMOST.search(lines[min(head + 1, len(lines) - 1)].text):
        return None
    behind = [line for line in lines[head + 1 :] if not _belongs(line.text)]
    return head - 1 if len(behind) == 1 and behind[0] is lines[-1] else None


def caught_last(lines: Sequence[LogLine]) -> bool:
    """Whether the program caught the error of the last traceback, and went on to the last line of all: it had gone on after one
    before, and this traceback begins at the frame that caught it, too, and is not the first part of another."""
    kept = [line for line in without_ignored(lines) if line.text.strip()]
    head = next((place for place in range(len(kept) - 2, 0, -1) if _HEAD.search(kept[place].text)), None)
    if head is None or _OUTERMOST.search(kept[head + 1].text) or _CHAIN.match(kept[head - 1].text):
        return False
    raised = next((place for place in range(head + 1, len(kept)) if not _belongs(kept[place].text)), len(kept))
    behind = kept[raised + 1 :]
    return bool(behind) and all(line.rank == kept[head].rank for line in behind) and caught(lines) > 0


def is_new(lines: Sequence[LogLine], line: LogLine) -> bool:
    """Whether no line before this one of them has its form: what a run says at its end it says once, and of its parts again."""
    before = takewhile(lambda each: each is not line, lines)
    return form_of(line) not in map(form_of, before)


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
            forms.setdefault(line.rank, set()).add(form_of(line))
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
    return line.kind in ("progress", "stage") or form_of(line) in forms


def _belongs(text: str) -> bool:
    """Whether a line is a frame, its source, or a break within a traceback."""
    return not text.strip() or text[0].isspace()
