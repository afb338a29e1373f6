"""Questions of the screen to a probe: one JSON line on its stdin. The answer is a reading with the same `ask` number.

Numbers are unique for one kind of question. Every question ends with an `AskEnd`, with or without an answer.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hangtop.records.log import LineKind


class PageAsk(Struct, frozen=True, omit_defaults=True, tag="page"):
    """Lines of file number `file` around byte `offset`.

    `direction` "back": up to `count` lines that end at or before `offset`; "on": lines that start at or after it.
    `pattern` keeps lines that hold it: plain text in any case, or a Python regex if `regex` is true.
    `kinds` keeps lines of these kinds (empty: all).
    """

    ask: int
    file: int
    offset: int
    direction: Literal["back", "on"] = "back"
    count: int = 200
    pattern: str | None = None
    regex: bool = False
    kinds: tuple[LineKind, ...] = ()


class StacksAsk(Struct, frozen=True, omit_defaults=True, tag="stacks"):
    """Dump the stacks of these pids, without stopping them. `locals`: with the values of local variables.

    `stop`: pid → start ticks of processes whose frames of C code are wanted. Each is stopped for a moment, if it is still the
    same process. Only when the user asks for it, and was told which processes it stops.
    """

    ask: int
    pids: tuple[int, ...] = ()
    stop: dict[int, int] = {}
    locals: bool = False


class WaitsAsk(Struct, frozen=True, omit_defaults=True, tag="waits"):
    """What do these processes wait for, who could end that, and what moves meanwhile? The answer takes some seconds.

    `elsewhere`: members on other nodes: which of them wait for a lock there, and who has it?
    """

    ask: int
    pids: tuple[int, ...] = ()
    elsewhere: tuple[int, ...] = ()


class FlightAsk(Struct, frozen=True, omit_defaults=True, tag="flight"):
    """Ask torch's flight recorder in these ranks for a dump, if they have a FIFO for that. Only when the user asks."""

    ask: int
    pids: tuple[int, ...] = ()


class LeftoversAsk(Struct, frozen=True, omit_defaults=True, tag="leftovers"):
    """What did dead runs leave behind that has not been used for `older_s`? `pids`: processes that might be leftovers; do they
    still write?

    `ending`: the pids that will end first: what only they hold is left over too.
    """

    ask: int
    older_s: float = 600.0
    pids: tuple[int, ...] = ()
    ending: tuple[int, ...] = ()


class LaunchAsk(Struct, frozen=True, omit_defaults=True, tag="launch"):
    """How was this process started? Without `pid`: the run that wrote the watched log last. `elsewhere`: processes of other
    nodes, number and start ticks."""

    ask: int
    pid: int | None = None
    start_ticks: int = 0
    elsewhere: tuple[tuple[int, int], ...] = ()


class ActorLogAsk(Struct, frozen=True, omit_defaults=True, tag="actor_log"):
    """The last lines that an actor printed. `log`: its output file, if that is on this machine."""

    ask: int
    session: str
    actor: str
    log: str | None = None


class RemoteWorker(Struct, frozen=True, omit_defaults=True):
    """A Ray worker on another node. `pid`: its pid there."""

    node: str
    pid: int
    rank: int | None = None
    host: str | None = None


class RemoteStacksAsk(Struct, frozen=True, omit_defaults=True, tag="far_stacks"):
    """The stacks of workers on other nodes: from the dashboard, or with `task` by a Ray task on each node of the cluster."""

    ask: int
    session: str
    workers: tuple[RemoteWorker, ...]
    task: bool = False


class KnownRank(Struct, frozen=True, omit_defaults=True):
    """A rank whose process is known. `seen`: another source reads its stack."""

    rank: int
    pid: int
    start_ticks: int
    seen: bool = False


class TorchDebugAsk(Struct, frozen=True, omit_defaults=True, tag="torch_debug"):
    """Ask the debug servers of all ranks for their flight recorders, and for the stacks that nobody else reads."""

    ask: int
    known: tuple[KnownRank, ...] = ()


class InspectAsk(Struct, frozen=True, omit_defaults=True, tag="inspect"):
    """All that the kernel tells of one process. `start_ticks`: of the process that is meant; 0: whoever has this pid."""

    ask: int
    pid: int
    start_ticks: int = 0


class RayAsk(Struct, frozen=True, omit_defaults=True, tag="ray_session"):
    """What belongs to this Ray session on this machine, and what would start it again? An empty `session`: the only one."""

    ask: int
    session: str = ""


Ask = (
    PageAsk
    | StacksAsk
    | WaitsAsk
    | InspectAsk
    | FlightAsk
    | LeftoversAsk
    | LaunchAsk
    | RayAsk
    | ActorLogAsk
    | RemoteStacksAsk
    | TorchDebugAsk
)

ANSWERED_BY: dict[type[Ask], str] = {
    PageAsk: "pages",
    StacksAsk: "stacks",
    WaitsAsk: "waits",
    InspectAsk: "inspect",
    FlightAsk: "nccl",
    LeftoversAsk: "leftovers",
    LaunchAsk: "launch",
    RayAsk: "ray",
    ActorLogAsk: "rayworkers",
    RemoteStacksAsk: "rayworkers",
    TorchDebugAsk: "torchdebug",
}
"""The source that answers each kind of question."""


class AskEnd(Struct, frozen=True, omit_defaults=True, tag="ask_end"):
    """Question number `ask` of this `kind` has ended: its answer was sent, or `problem` says why there is none."""

    ask: int
    kind: str
    problem: str | None = None


def kind_of(ask: Ask) -> str:
    """The name of the kind of question on the wire."""
    return str(type(ask).__struct_config__.tag)
