"""Rules over launchers: they wait for other nodes, before there is any rank, and may start ranks again that died."""

from __future__ import annotations

from msgspec.structs import replace

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


def with_restart(snapshot: Snapshot, verdict: Verdict) -> Verdict:
    """The verdict of a run of which ranks died while the launcher lives that may start all of them again: it ends what is left
    before, which may take half a minute, and leaves itself where no try is left. For no longer than a run may rest on purpose."""
    left = _restarts_left(snapshot) if verdict.word == "crashed" and snapshot.in_time else 0
    if not left:
        return verdict
    again = f"its launcher lives, and may start all ranks again ({some(left, 'restart')} left)"
    headline = f"{verdict.headline.removesuffix('.')}; {again}."
    refute = "the launcher ends, or says that it gives up"
    return replace(verdict, word="waiting", headline=headline, refute=refute, confidence="likely")


def _restarts_left(snapshot: Snapshot) -> int:
    """As it told the ranks that it started last, if it lives."""
    procs = snapshot.procs
    told = [each for each in (*procs.ended, *procs.processes) if each.restarts_left is not None and each.role == "rank"]
    living = {process.pid for process in procs.processes if not process.exited}
    left = min((each.restarts_left or 0 for each in told), default=0)
    return left if any(each.ppid in living for each in told if each.restarts_left == left) else 0


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
