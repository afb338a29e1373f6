"""What is told of Ray workers when a person asks: the end of what one printed, and the stacks of those on other nodes."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.stack import Stack


class WorkerOutput(Struct, frozen=True, omit_defaults=True):
    """The end of one of its two files. `path` is on its node. `age_s`: since the file was written last, by the clock of its node.

    `via`: what was asked for it, for a person to repeat; empty for a file on this machine.
    """

    path: str
    lines: tuple[str, ...] = ()
    age_s: float | None = None
    via: str = ""
    problem: str = ""


class ActorLogReading(Struct, frozen=True, omit_defaults=True, tag="actor_log"):
    """The answer to an `ActorLogAsk`. `problem`: why there is no output at all."""

    ask: int
    outputs: tuple[WorkerOutput, ...] = ()
    problem: str = ""


class RemoteStacksReading(Struct, frozen=True, omit_defaults=True, tag="far_stacks"):
    """A part of the answer to a `RemoteStacksAsk`; the parts of one `ask` add up. `asked`: of how many workers.

    `task`: taken by a task that ran in the person's cluster.
    """

    ask: int
    at: float
    asked: int = 0
    stacks: tuple[Stack, ...] = ()
    task: bool = False
    done: bool = False


def add_remote(known: RemoteStacksReading | None, part: RemoteStacksReading) -> RemoteStacksReading:
    """The look known so far with this part added, or a new one."""
    if known is None or known.ask != part.ask:
        return part
    return replace(part, asked=max(known.asked, part.asked), stacks=(*known.stacks, *part.stacks), at=known.at)
