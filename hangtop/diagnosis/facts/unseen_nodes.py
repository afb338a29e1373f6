"""Nodes of the run that cannot be seen: what is missing may be there. Pure."""

from __future__ import annotations

from msgspec import Struct

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.nodes import source_of
from hangtop.records.verdict import Culprit, Evidence


class UnseenNode(Struct, frozen=True):
    """`why`: what its source says, or that it has not said anything yet."""

    host: str
    why: str


def unseen_nodes(snapshot: Snapshot) -> tuple[UnseenNode, ...]:
    """The named nodes of which nothing is known now, in their order."""
    known = ((host, snapshot.state.health.get(source_of(host))) for host in snapshot.spec.hosts)
    return tuple(
        UnseenNode(host, health.problem if health is not None and health.problem else f"{host} has not answered yet")
        for host, health in known
        if health is None or health.problem is not None or health.read_at is None
    )


def node_evidence(nodes: tuple[UnseenNode, ...]) -> tuple[Evidence, ...]:
    return tuple(Evidence("nodes", node.why) for node in nodes)


def node_culprits(nodes: tuple[UnseenNode, ...], why: str) -> tuple[Culprit, ...]:
    """The nodes on which the missing ranks may be."""
    return tuple(Culprit(None, None, node.host, "possible", (why, node.why)) for node in nodes)
