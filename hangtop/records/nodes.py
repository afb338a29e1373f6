"""Processes of several nodes in one number space.

A pid means something on its own node only, and pods often have the same ones. A process of another node is therefore kept under
a number that no process here can have: the number of its node, in the order in which the nodes were named and from 1 on, above
the bits of its pid there. A signal to such a number reaches nobody. Pids have at most 22 bits (PID_MAX_LIMIT in
include/linux/threads.h)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

PID_BITS = 22
_SOURCE = "node "


def source_of(host: str) -> str:
    """The name of the source that looks at this node."""
    return f"{_SOURCE}{host}"


def is_node(source: str) -> bool:
    """Whether this source looks at another node."""
    return source.startswith(_SOURCE)


def host_of(source: str) -> str:
    """The node that this source looks at."""
    return source.removeprefix(_SOURCE)


def on_node(node: int, pid: int) -> int:
    """The number of process `pid` of this node; the pid itself for this machine, which is node 0."""
    return node << PID_BITS | pid


def node_of(number: int) -> int:
    """The node of this process; 0 for one of this machine."""
    return number >> PID_BITS


def pid_there(number: int) -> int:
    """Its pid on its own node."""
    return number & ((1 << PID_BITS) - 1)


def is_named(pid: int, numbers: Iterable[int]) -> bool:
    """Whether a pid that was said without its node may be one of these processes: of whichever node."""
    return any(pid_there(number) == pid for number in numbers)


def pid_text(number: int, names: Mapping[int, str] | None = None) -> str:
    """`pid 812`, or `pid 812 of node 2`; with the `names` of nodes `pid 812 on n2`."""
    if not (node := node_of(number)):
        return f"pid {number}"
    name = names.get(node) if names else None
    return f"pid {pid_there(number)} on {name}" if name else f"pid {pid_there(number)} of node {node}"


class NamedNodes(Struct, frozen=True):
    """Nodes that the processes of the run name, which nobody asked to see. `options`: what would show them. `by`: who says so."""

    options: tuple[str, ...]
    by: str


class OtherNode(Struct, frozen=True, omit_defaults=True):
    """Which machine a node is: its number, its boot and its PID namespace, so that a signal goes nowhere else than where a plan
    was made. `uid`: as whom it is looked at; -1: it did not tell. `launcher`: what reaches it. `tied`: a fact ties its ranks to
    this run: they meet where the ranks here do, or are of the Slurm job that was named; else a person only named the node."""

    node: int
    boot: str
    pids: str
    uid: int = -1
    launcher: str = ""
    tied: bool = False
