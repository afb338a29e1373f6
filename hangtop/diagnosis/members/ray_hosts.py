"""Which addresses are one node, and which nodes are other machines, by what Ray tells of its nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hangtop.diagnosis.members.ray_ownership import clusters_of_run
from hangtop.records.log import RankLog
from hangtop.records.ray.cluster import RayNode
from hangtop.state.run_state import RunState


def host_names(state: RunState) -> dict[str, str]:
    """The name of each node by its address. Several raylets of one machine have one address, and then no name is surer."""
    return {node.ip: node.host for node in reversed(_nodes(state)) if node.ip and node.host}


def near(state: RunState, logs: Iterable[RankLog]) -> list[RankLog]:
    """The ranks whose pid may be of this machine: a pid belongs to the machine that the log names beside it."""
    here = {address for node in _nodes(state) if node.local for address in (node.ip, node.host)}
    away = {address for node in _nodes(state) if not node.local for address in (node.ip, node.host)} - here
    return [log for log in logs if log.host not in away]


def _nodes(state: RunState) -> list[RayNode]:
    return [node for cluster in clusters_of_run(state) for node in cluster.nodes]
