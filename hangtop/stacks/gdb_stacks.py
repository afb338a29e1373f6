"""Stacks of C as gdb prints them (`thread apply all bt`), which people paste of programs that stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from hangtop.common.late_pattern import late_pattern
from hangtop.records.stack import Frame, Stack, Thread
from hangtop.stacks.printed_stacks import MAIN

_THREAD = late_pattern(r"^Thread (?P<number>\d{1,6}) \((?:Thread 0x[0-9a-f]{1,16} )?\(?LWP (?P<tid>\d{1,10})\)")
_CHOSEN = late_pattern(r"^\(gdb\) (?:thread|t) (?P<number>\d{1,6})\s*$")
"""What a person typed; the frames of that thread follow behind `bt`."""
_FRAME = late_pattern(
    r"^#(?P<place>\d{1,3})\s{1,3}(?:0x[0-9a-f]{1,16} in )?(?P<function>[\w:~<>@.]{1,200}) ?\(.{0,2000}\)"
    r"(?: (?:at|from) (?P<file>\S{1,300}?)(?::(?P<line>\d{1,7}))?)?\s*$"
)


def gdb_stacks(lines: Iterable[str]) -> Iterator[Stack]:
    """One process for each run of threads down to number 1, which is the main one."""
    threads: list[Thread] = []
    for line in lines:
        if (thread := _THREAD.match(line)) is not None:
            name = MAIN if thread["number"] == "1" else ""
            threads.append(Thread(name, (), tid=int(thread["tid"]), state="S"))
        elif (chosen := _CHOSEN.match(line)) is not None:
            threads.append(Thread(MAIN if chosen["number"] == "1" else "", (), state="S"))
        elif (frame := _FRAME.match(line)) is not None:
            if frame["place"] == "0" and (not threads or threads[-1].frames):
                yield from _stack(threads)
                threads = [Thread(MAIN, (), state="S")]
            if threads:
                told = Frame(frame["function"].partition("@")[0], frame["file"] or "C.c", int(frame["line"] or 0))
                threads[-1] = replace(threads[-1], frames=(*threads[-1].frames, told))
    yield from _stack(threads)


def _stack(threads: list[Thread]) -> Iterator[Stack]:
    told = tuple(thread for thread in threads if thread.frames)
    if told:
        yield Stack(next((thread.tid or 0 for thread in told if thread.name == MAIN), 0), 0.0, told)
