"""What the user can ask about Ray workers: the end of their output, and the stacks of workers on other nodes."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.stack import Stack


class WorkerOutput(Struct, frozen=True, omit_defaults=True):
    """The end of one of the two output files of an actor. `path`: on its node. `age_s`: seconds since its last write, by the
    clock of its node.

    `via`: the request that fetched it, which the user can repeat; empty for a file on this machine.
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
    """A part of the answer to a `RemoteStacksAsk`; the parts of one `ask` add up. `asked`: the number of workers.

    `task`: the stacks were taken by a task in the user's cluster.
    """

    ask: int
    at: float
    asked: int = 0
    stacks: tuple[Stack, ...] = ()
    task: bool = False
    done: bool = False


def add_remote(known: RemoteStacksReading | None, part: RemoteStacksReading) -> RemoteStacksReading:
    """The answer known so far with this part added, or a new one."""
    if known is None or known.ask != part.ask:
        return part
    return replace(part, asked=max(known.asked, part.asked), stacks=(*known.stacks, *part.stacks), at=known.at)
