"""The rule over launchers that wait for other nodes, before there is any rank."""

from __future__ import annotations

from hangtop.common.text import some
from hangtop.diagnosis.facts.unseen_nodes import node_culprits, node_evidence, unseen_nodes
from hangtop.diagnosis.rules.verdict_builders import silence
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.nodes import node_of
from hangtop.records.process import Process
from hangtop.records.verdict import Culprit, Evidence, Verdict
from hangtop.system.processes.torchrun_line import Meeting, meeting_of


def agents_meet(snapshot: Snapshot) -> Verdict | None:
    """torchrun waits until the least number of nodes has come, and starts no rank before: which node did not come?

    Stands before `stalled`: that rule knows no reason.
    """
    found = _waiting(snapshot)
    if not snapshot.is_quiet or found is None:
        return None
    meeting, agents = found
    came = {node_of(agent.pid) for agent in agents}
    if len(came) >= meeting.nodes:
        return None
    absent, unseen = _without(snapshot, came), unseen_nodes(snapshot)
    why = f"no torchrun of this run is there, for {meeting.endpoint}"
    here = tuple(Culprit(None, None, host, "likely", (why,)) for host in absent)
    culprits = (*here, *node_culprits(unseen, "its torchrun did not come, or cannot be seen"))
    who = f": none is on {', '.join(absent)}" if absent else f": {unseen[0].why}" if unseen else ": no other node is watched"
    number = f"{len(came)} of {some(meeting.nodes, 'node')}"
    evidence = Evidence("procs", f"torchrun on {number} started no rank: it waits at {meeting.endpoint}")
    return Verdict(
        word="waiting",
        kind="rendezvous",
        headline=f"{number} came to the meeting at {meeting.endpoint}, and torchrun starts no rank before all have come{who}.",
        refute="another node comes: then the ranks start",
        confidence="likely" if culprits else "possible",
        culprits=culprits,
        evidence=(evidence, *node_evidence(unseen), silence(snapshot)),
    )


def _waiting(snapshot: Snapshot) -> tuple[Meeting, list[Process]] | None:
    """The meeting, and the launchers of it that live and never had a rank; `None` where there is, or was, a rank."""
    procs = snapshot.procs
    living = [process for process in procs.processes if not process.exited]
    if procs.ended or any(process.rank is not None and process.role == "rank" for process in living):
        return None
    known = [(meeting, process) for process in living if (meeting := meeting_of(process.command)) is not None]
    if not known or any(process.subtree_size > 1 for _, process in known):
        return None
    first = known[0][0]
    return first, [process for meeting, process in known if (meeting.endpoint, meeting.id) == (first.endpoint, first.id)]


def _without(snapshot: Snapshot, came: set[int]) -> tuple[str, ...]:
    """The named nodes that are seen, and have no launcher of this meeting."""
    lost = {node.host for node in unseen_nodes(snapshot)}
    return tuple(host for node, host in enumerate(snapshot.spec.hosts, start=1) if node not in came and host not in lost)
