"""Compiled code leaves no Python frame (mpi4py, bindings of gloo): the source line of the innermost frame names what it calls."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from hangtop.records.stack import Frame, StacksReading, Thread, add_look
from hangtop.stacks.frames import COMPILED, owner, table

Calls = Mapping[tuple[str, int], str]


def take_in(looks: tuple[StacksReading, ...], part: StacksReading) -> tuple[StacksReading, ...]:
    """The looks with this part added; once the source lines are there, the compiled calls that they name are frames as well."""
    looks = add_look(looks, part)
    lines = {(source.file, source.at): source.lines[source.at - source.first] for source in part.excerpts if not source.changed}
    calls = {place: call for place, line in lines.items() if (call := _called(line))}
    return tuple(_with_calls(look, calls) if look.ask == part.ask else look for look in looks) if calls else looks


def _called(line: str) -> str | None:
    """The collective that this line calls, if any."""
    return next((found[1] for pattern in table().compiled if (found := re.search(pattern, line))), None)


def _with_calls(look: StacksReading, calls: Calls) -> StacksReading:
    def with_call(thread: Thread) -> Thread:
        inner = thread.frames[0] if thread.frames else None
        if inner is None or owner(inner.file) not in ("user", "package") or (call := calls.get((inner.file, inner.line))) is None:
            return thread
        return replace(thread, frames=(Frame(call, COMPILED, inner.line), *thread.frames))

    return replace(look, stacks=tuple(replace(stack, threads=tuple(map(with_call, stack.threads))) for stack in look.stacks))
