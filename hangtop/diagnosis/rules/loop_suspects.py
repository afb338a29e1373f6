"""Of members at work: the ones that may as well loop without end while all others wait for them. Nothing but time tells work from
that, so each is only possible."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.diagnosis.facts.other_side import computes
from hangtop.diagnosis.rules.verdict_builders import as_culprits
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.by_waits import current_watch
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.process import Process
from hangtop.records.verdict import Culprit
from hangtop.stacks.loops import IO_BYTES_S, does_more, recently

A_CORE_PART = 0.8
"""Part of the time in which the main thread of a loop in Python runs, or waits for a core."""
BY_LINES = ("reward", "eval", "data")
"""Work of many small calls, by its names. One of these that holds the GIL at one line at each look, such as a regular expression
that tries all ways, may be without end; what computes in C for long gives the GIL away."""
WHY = "it works, or loops without end"


def loop_suspects(snapshot: Snapshot, working: Sequence[MemberStatus]) -> tuple[Culprit, ...]:
    """The few that burn one core in code that no name explains, and move no bytes; or the one process of the run that does so at
    the end of all their waits. Nobody where half of the members work, or where one works for itself alone."""
    if (end := _end_of_all(snapshot, working)) is not None:
        ranks = {rank.pid: rank.rank for rank in snapshot.ranks}
        return (Culprit(ranks.get(end), end, working[0].host, "possible", (WHY, "the others wait for it")),)
    known = len(snapshot.members) + len(snapshot.aside)
    few = 2 * len(working) <= known and known > 1
    if not working or not (few or all(_is_awaited(snapshot, member) for member in working)):
        return ()
    return as_culprits(working, "possible", WHY) if all(map(_may_loop, working)) else ()


def suspects_of_loader(busy: Sequence[MemberStatus], workers: int) -> tuple[Culprit, ...]:
    """The same of data workers: a few of them burn a core each, while the trainer waits for the batch of one of them."""
    few = busy and 2 * len(busy) <= max(workers, 2)
    return as_culprits(busy, "possible", WHY) if few and all(_may_loop(worker, (None, "data")) for worker in busy) else ()


def _may_loop(member: MemberStatus, phases: Sequence[str | None] = (None,)) -> bool:
    """`phases`: what its functions may be about by their names; all else is work that takes its time."""
    known, process = member.activity, member.process
    if known is not None and member.moved is False and known.thread.owns_gil:
        phases = (*phases, *BY_LINES)
    if known is None or known.phase not in phases or member.until is not None or member.figures or does_more(process):
        return False
    at_one_place = member.doubted and known.kind == "user" and member.moved is not None
    gave_way = known.thread.runs and not known.thread.owns_gil  # a loop in Python has the GIL, C code that computes does not
    return at_one_place or (not gave_way and _burns_a_core(process))


def _burns_a_core(process: Process) -> bool:
    """For as long as it was watched; bytes that pass are work."""
    recent = recently(process)
    ran = (recent.main_cpu_part or 0.0) + (recent.delay_part or 0.0)
    return max(ran, (process.cpu_percent or 0.0) / 100) >= A_CORE_PART and (recent.passed_b_s or 0.0) <= IO_BYTES_S


def _end_of_all(snapshot: Snapshot, working: Sequence[MemberStatus]) -> int | None:
    """The pid that computes at the end of the waits of all that count as at work, if it is the run's or of the same job."""
    watch, waits = current_watch(snapshot.state, snapshot.pause_s), snapshot.state.waits
    ends = {member.side.pid if member.side is not None and member.side.doubted else None for member in working}
    if watch is None or waits is None or len(ends) != 1 or (end := ends.pop()) is None:
        return None
    own = end in waits.beside or any(process.pid == end for process in snapshot.procs.processes)
    return end if own and end in watch.processes and computes(watch, watch.processes[end]) else None


def _is_awaited(snapshot: Snapshot, member: MemberStatus) -> bool:
    """Whether a process that writes the log has started it to wait for what it gives: itself it writes none."""
    writers = {writer.pid for writer in snapshot.procs.writers if writer.alive}
    return member.pid not in writers and member.process.ppid in writers
