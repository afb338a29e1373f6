"""Clean up what dead runs left behind: the plan. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from hangtop.actions.plans.stop_plan import (
    NOT_TIED,
    STAYS,
    frees,
    left_alone,
    newest,
    number_of,
    targets_of,
    unseen,
    why_not,
    with_descendants,
)
from hangtop.actions.registry import Planner, Request
from hangtop.common import text
from hangtop.diagnosis.facts.leftover_members import PARTS, leftovers, lost_its_parent
from hangtop.records.ask import Ask, LeftoversAsk
from hangtop.records.nodes import node_of
from hangtop.records.plan import LeftAlone, LeftoversReading, NodeLeftovers, NodePart, OwnProcess, Plan, Refusal
from hangtop.records.process import Process
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState


def clean_plan(state: RunState, found: LeftoversReading, me: OwnProcess, now: float, older_s: float) -> Plan | Refusal:
    """Processes, children before parents, then files. `found`: the probe's answer. `now`: unix time, for the age of processes."""
    if found.problem:
        return Refusal(found.problem)
    orphans, left = candidates(state), leftovers(state)
    ours, lost = frozenset(process.pid for process in left.processes if left.seen), _lost_daemons(orphans)
    reasons = {
        orphan.pid: why
        for orphan in orphans
        if (why := _why_not(orphan, me, found, now, 0.0 if orphan.pid in ours else older_s, lost)) is not None
    }
    reasons = _inherited(orphans, reasons, ours | lost)
    targets = targets_of([orphan for orphan in orphans if orphan.pid not in reasons])
    spared = [LeftAlone(f"pid {orphan.pid} {orphan.name}", reasons[orphan.pid]) for orphan in orphans if orphan.pid in reasons]
    spared = [*spared, *found.kept]
    far, left_there = _elsewhere(state, found, now, older_s)
    spared += left_there
    told = state.node_names.values()
    unknown = (*unseen(state), *(each.problem for each in found.elsewhere if each.problem and each.host in told))
    if not targets and not found.found and not far:
        rest = f"; {text.some(len(spared), 'thing')} looked like it: {spared[0].what}: {spared[0].why}" if spared else ""
        nothing = f"nothing left over: no file and no process of dead runs, older than {text.duration(older_s)}{rest}"
        return Refusal("; ".join((nothing, *(f"not known: {why}" for why in unknown))), nothing_to_do=not unknown)
    removals = (*found.found, *(removal for part in far for removal in part.removals))
    size = sum(removal.allocated_bytes for removal in removals)
    everywhere = (*targets, *(target for part in far for target in part.targets))
    what = [number_of(everywhere) if everywhere else "", f"{text.some(len(removals), 'path')}" if removals else ""]
    had_back = [frees(everywhere), f"{text.size(size)} of files and shared memory" if size else ""]
    return Plan(
        action="clean",
        title="Clean leftovers of dead runs: " + ", ".join(word for word in what if word),
        targets=targets,
        removals=found.found,
        spared=tuple(spared),
        word="clean",
        frees=", ".join(word for word in had_back if word),
        older_s=older_s,
        newest_ticks=newest(orphans),
        elsewhere=far,
        unseen=unknown,
    )


def _elsewhere(
    state: RunState, found: LeftoversReading, now: float, older_s: float
) -> tuple[tuple[NodePart, ...], list[LeftAlone]]:
    """Ranks of this run on other nodes that lost their parent there, with what they started, and what dead runs left behind
    there; and what stays, each with why."""
    parts, spared = list[NodePart](), list[LeftAlone]()
    by_host = {each.host: each for each in found.elsewhere}
    left = leftovers(state).processes
    for host in sorted(state.nodes):
        procs = state.processes[host]
        lost = {process.pid for process in left if procs.node is not None and lost_its_parent(process)}
        chosen = with_descendants(procs.processes, lost)
        there_left = by_host.get(host, NodeLeftovers(host))
        if procs.node is None:
            continue
        spared += [replace(kept, what=f"{kept.what} on {host}") for kept in there_left.kept]
        there = OwnProcess(0, frozenset(), procs.node.uid, host)
        loose = None if procs.node.tied else NOT_TIED
        reasons = {each.pid: why_not(each, there) or loose or _too_young(each, now, older_s) for each in chosen}
        targets = targets_of([each for each in chosen if reasons[each.pid] is None])
        if targets or there_left.found:
            parts.append(NodePart(host, procs.node, targets, newest(procs.processes), removals=there_left.found))
        stays = [(each, why) for each in chosen if (why := reasons[each.pid]) is not None]
        spared += [replace(left, what=f"{left.what} on {host}") for left in left_alone(stays)]
    return tuple(parts), spared


def _lost_daemons(orphans: Iterable[Process]) -> frozenset[int]:
    """Orphaned Ray daemons and their descendants. The probe lists a daemon as an orphan only when neither GCS nor raylet of its
    session lives, so it serves nobody, whatever it writes."""
    lost, listed = set[int](), set[int]()
    for orphan in orphans:
        if orphan.ppid in lost or (orphan.role in STAYS and orphan.ppid not in listed):
            lost.add(orphan.pid)
        listed.add(orphan.pid)
    return frozenset(lost)


def candidates(state: RunState) -> tuple[Process, ...]:
    """On this machine: first what the watched run was seen to leave behind, then the orphans of unknown runs."""
    left = tuple(process for process in leftovers(state).processes if not node_of(process.pid))
    known = {process.pid for process in left}
    return (*left, *(orphan for orphan in (state.procs.orphans if state.procs is not None else ()) if orphan.pid not in known))


def _why_not(
    orphan: Process, me: OwnProcess, found: LeftoversReading, now: float, older_s: float, lost: Collection[int]
) -> str | None:
    if (why := why_not(orphan, me, stays=() if orphan.pid in lost else STAYS)) is not None:
        return why
    if (path := found.writing.get(orphan.pid)) is not None and orphan.pid not in lost:
        return f"it lost its parent, but writes to {path}"
    return _too_young(orphan, now, older_s)


def _too_young(process: Process, now: float, older_s: float) -> str | None:
    age_s = now - process.started_at
    return f"started {text.duration(age_s)} ago" if age_s < older_s else None


def _inherited(orphans: Iterable[Process], reasons: Mapping[int, str], ours: frozenset[int]) -> dict[int, str]:
    """`reasons`, and that of each ancestor for its descendants: a child of a process that stays, stays too.

    `orphans` lists parents before their children. `ours`: pids of the watched run and of lost Ray daemons. Any other orphan at
    the top of a tree may be a run of its own, and stays.
    """
    known: dict[int, str] = {}
    listed: set[int] = set()
    for orphan in orphans:
        top = orphan.ppid not in listed
        listed.add(orphan.pid)
        if orphan.pid in reasons:
            known[orphan.pid] = reasons[orphan.pid]
        elif orphan.ppid in known:
            known[orphan.pid] = f"pid {orphan.ppid}, which started it, stays"
        elif top and orphan.role not in PARTS and orphan.pid not in ours:
            known[orphan.pid] = f"it may be a run of its own: hangtop stop --pid {orphan.pid}"
    return known


class CleanPlanner(Planner):
    """Key c, `hangtop clean`."""

    waits_for = ("nodes",)
    patience_s = 60.0

    def narrowed(self, spec: WatchSpec) -> WatchSpec:
        return replace(spec, sources=("procs", "leftovers"))

    def questions(self, state: RunState, request: Request) -> tuple[Ask, ...]:
        known, nothing, older_s = candidates(state), LeftoversReading(request.number), request.choices.older_s
        lost = _lost_daemons(known)
        end = [orphan for orphan in known if _why_not(orphan, request.me, nothing, request.now, older_s, lost) is None]
        ending = tuple(orphan.pid for orphan in end if orphan.pid in lost)
        return (LeftoversAsk(request.number, older_s, tuple(orphan.pid for orphan in known), ending),)

    def plan(self, state: RunState, request: Request, asked: Sequence[Ask]) -> Plan | Refusal:
        assert state.leftovers is not None
        return clean_plan(state, state.leftovers, request.me, request.now, request.choices.older_s)
