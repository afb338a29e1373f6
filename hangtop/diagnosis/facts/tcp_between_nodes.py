"""A run of several nodes whose NCCL found nothing but TCP sockets: each step sends its gradients through them. Pure."""

from __future__ import annotations

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.verdict import Evidence

OVER_TCP, THROUGH_TCP, NODES = "mark.nccl_over_tcp", "mark.nccl_socket", "mark.nodes"
SHORT_STEP_S = 1.0
"""A step that takes less does not suffer from the network."""


def tcp_between_nodes(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """Only where the log tells that there are several nodes: NCCL says the same of one, where it means nothing."""
    marks = {finding.id: finding for finding in snapshot.findings if finding.id in (OVER_TCP, THROUGH_TCP, NODES)}
    log = snapshot.log
    step_s = log.pace.p50_s or log.step_times.step_s or log.progress.step_s
    trains = log.progress.step is not None and (step_s is None or step_s >= SHORT_STEP_S)
    if not trains or OVER_TCP not in marks or not marks.keys() & {THROUGH_TCP, NODES}:
        return ()
    of = f"{marks[NODES].groups['n']} nodes" if NODES in marks and "n" in marks[NODES].groups else "several nodes"
    return (Evidence("log", f"NCCL goes over TCP sockets between {of}: it found no InfiniBand card", page="slow_network"),)
