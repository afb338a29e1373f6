"""The Python stacks of processes at one moment, and the kernel state of their threads."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Wait = Literal["lock", "sleep", "poll", "socket", "pipe", "child", "file", "stopped", "accept", "terminal"]
"""The kernel call a thread waits in. `file` is any wait for a file system or block device; `accept` for whoever connects;
`terminal` for a person who types."""
Loop = Literal["waits", "endless", "asks", "rounds", "beats", "takes", "ends", "none"]
"""The loop around a line. `waits`: a `while` that does nothing until something changes; `endless`: a `while` that nothing leaves;
`rounds`: a `while` that only looks whether processes live, or that nothing but an error leaves; `takes`: a `while` that takes in
each round what another gives, from a queue or a connection, and waits for it; `beats`: a `while` that nothing leaves, and that
does nothing in each of its rounds but to ask the system and to print; `asks`: any other `while`;
`ends`: a loop that ends by itself: a `for`, one that counts or has a time limit; `none`: no loop."""


class Frame(Struct, frozen=True, omit_defaults=True, array_like=True):
    """One frame. `function`: qualified if the interpreter tells it (Python ≥ 3.11). `locals`: names and reprs, if asked for."""

    function: str
    file: str
    line: int
    locals: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The bare name of the function."""
        return self.function.rpartition(".")[2]


class Thread(Struct, frozen=True, omit_defaults=True):
    """One thread, innermost frame first. `state`: the kernel's letter; `wait`, `wchan`: what it waits in, if that is visible.
    `timers`: of an event loop of asyncio that waits, how many moments it has set itself, if that could be read."""

    name: str
    frames: tuple[Frame, ...]
    tid: int | None = None
    owns_gil: bool = False
    state: str | None = None
    wait: Wait | None = None
    wchan: str | None = None
    timers: int | None = None

    @property
    def runs(self) -> bool:
        """Whether it was running, or waiting for a core."""
        return self.state == "R"


class Stack(Struct, frozen=True, omit_defaults=True):
    """One process. `started_ticks` (clock ticks after boot) tells it from a later process with the same pid.

    `problem`: why there are no threads; `mend`: the exact command that permits it. `signal_dump`: its SIGUSR1 handler may be
    faulthandler's, so SIGUSR1 would print the stacks into its log; hangtop never sends it. `host`: the other machine that the pid
    belongs to; `rank` is then final. `stopped`: it was stopped for a moment to read its frames of C code.
    `listens`: at a TCP port, as far as may be seen.
    """

    pid: int
    at: float
    threads: tuple[Thread, ...] = ()
    rank: int | None = None
    started_ticks: int = 0
    state: str | None = None
    problem: str | None = None
    mend: str | None = None
    signal_dump: bool = False
    host: str | None = None
    stopped: bool = False
    listens: bool = False

    @property
    def main(self) -> Thread | None:
        """The main thread: by its id, which is the pid, else by its name."""
        by_id = (thread for thread in self.threads if thread.tid == self.pid)
        by_name = (thread for thread in self.threads if thread.name == "MainThread")
        return next(by_id, None) or next(by_name, None)


class Excerpt(Struct, frozen=True, omit_defaults=True):
    """A few lines of a source file, from line number `first` on, around line `at`.

    `changed`: the file is newer than the process that runs it. `loop`: the loop around that line, if the source tells, and
    `loop_line`, where it begins. `awaits`: what the loops are around the lines of this file that await a sleep. `counted`: all
    loops around the line end by themselves, and it only computes there. `at_exit`: the function is one that the program calls at
    its exit. `continues`: behind the line the function lets a stopped process go on.
    """

    file: str
    first: int
    lines: tuple[str, ...]
    changed: bool = False
    at: int = 0
    loop: Loop | None = None
    loop_line: int | None = None
    awaits: tuple[Loop, ...] = ()
    counted: bool = False
    at_exit: bool = False
    continues: bool = False


class StacksReading(Struct, frozen=True, omit_defaults=True, tag="stacks"):
    """A part of the answer to a `StacksAsk`; the parts of one `ask` add up. `done`: all stacks are there; excerpts come last.

    `asked`: all pids of the question.
    """

    ask: int
    asked: tuple[int, ...] = ()
    stacks: tuple[Stack, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    started_at: float = 0.0
    took_s: float | None = None
    locals: bool = False
    done: bool = False
    problem: str | None = None
    mend: str | None = None


LOOKS_KEPT = 4


def add_look(looks: tuple[StacksReading, ...], part: StacksReading) -> tuple[StacksReading, ...]:
    """The samples known so far, oldest first, with this part added to its own sample, or as a new one."""
    place = next((nth for nth, look in enumerate(looks) if look.ask == part.ask), None)
    if place is None:
        return (*looks, part)[-LOOKS_KEPT:]
    last = looks[place]
    whole = replace(
        last,
        asked=part.asked or last.asked,
        stacks=(*last.stacks, *part.stacks),
        excerpts=(*last.excerpts, *part.excerpts),
        took_s=part.took_s or last.took_s,
        done=last.done or part.done,
        problem=part.problem or last.problem,
        mend=part.mend or last.mend,
    )
    return (*looks[:place], whole, *looks[place + 1 :])


def listening(looks: tuple[StacksReading, ...]) -> frozenset[int]:
    """The processes that listen at a port, as the last look saw."""
    return frozenset(stack.pid for stack in looks[-1].stacks if stack.listens) if looks else frozenset()
