"""Where programs stood when a person stopped them: the tracebacks that end with KeyboardInterrupt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hangtop.common.late_pattern import late_pattern
from hangtop.records.stack import Frame, Stack, Thread
from hangtop.stacks.printed_stacks import MAIN

_BEGIN = late_pattern(r"^(?:\^C)*Traceback \(most recent call last\):\s*$")
_FRAME = late_pattern(r'^\s{1,6}File "(?P<file>[^"]{1,300})", line (?P<line>\d{1,7}), in (?P<function>[\w<>.]{1,120})\s*$')
_END = late_pattern(r"^KeyboardInterrupt\b")


def interrupted_stacks(lines: Iterable[str]) -> Iterator[Stack]:
    """One for each such traceback, innermost frame first. Python interrupts its main thread (signal(3), Python's `signal`)."""
    frames: list[Frame] | None = None
    for line in lines:
        if _BEGIN.match(line):
            frames = []
        elif frames is not None and (frame := _FRAME.match(line)) is not None:
            frames.append(Frame(frame["function"], frame["file"], int(frame["line"])))
        elif frames is not None and line.strip() and not line[0].isspace():
            if frames and _END.match(line):
                yield Stack(0, 0.0, (Thread(MAIN, tuple(reversed(frames))),))
            frames = None
