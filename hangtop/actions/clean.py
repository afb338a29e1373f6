"""Clean up what dead runs left behind: the plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hangtop import text
from hangtop.actions.stop import Myself, frees, newest, number_of, targets_of, why_not
from hangtop.diagnosis.leftovers import PARTS, leftovers
from hangtop.model import RunState
from hangtop.records.leftovers import LeftoversReading
from hangtop.records.plan import Plan, Refusal, Spared
from hangtop.records.process import Process

OLDER_S = 600.0


def plan(state: RunState, found: LeftoversReading, me: Myself, now: float, older_s: float = OLDER_S) -> Plan | Refusal:
    """Processes, children before parents, then files. `found`: what the probe saw; `now`: unix time, for the age of processes."""
    if found.problem:
        return Refusal(found.problem)
    orphans = candidates(state)
    left = leftovers(state)
    ours = frozenset(one.pid for one in left.processes if left.seen)
    reasons = {
        orphan.pid: why
        for orphan in orphans
        if (why := _why_not(orphan, me, found, now, 0.0 if orphan.pid in ours else older_s)) is not None
    }
    reasons = _inherited(orphans, reasons, ours)
    targets = targets_of([orphan for orphan in orphans if orphan.pid not in reasons])
    spared = [Spared(f"pid {orphan.pid} {orphan.name}", reasons[orphan.pid]) for orphan in orphans if orphan.pid in reasons]
    if not targets and not found.found:
        kept = len(spared) + len(found.kept)
        rest = f"; {text.some(kept, 'thing')} looked like it: {_first([*spared, *found.kept])}" if kept else ""
        return Refusal(f"nothing left over: no file and no process of dead runs, older than {text.duration(older_s)}{rest}")
    size = sum(removal.allocated_bytes for removal in found.found)
    what = [number_of(targets) if targets else "", f"{text.some(len(found.found), 'path')}" if found.found else ""]
    had_back = [frees(targets), f"{text.size(size)} of files and shared memory" if size else ""]
    return Plan(
        action="clean",
        title="Clean leftovers of dead runs: " + ", ".join(word for word in what if word),
        targets=targets,
        removals=found.found,
        spared=(*spared, *found.kept),
        word="clean",
        frees=", ".join(word for word in had_back if word),
        older_s=older_s,
        newest_ticks=newest(orphans),
    )


def candidates(state: RunState) -> tuple[Process, ...]:
    """What the watched run left behind when it ended, which was seen; then orphans, of which that is not known."""
    left = leftovers(state).processes
    known = {one.pid for one in left}
    return (*left, *(one for one in (state.procs.orphans if state.procs is not None else ()) if one.pid not in known))


def _why_not(orphan: Process, me: Myself, found: LeftoversReading, now: float, older_s: float) -> str | None:
    if (why := why_not(orphan, me)) is not None:
        return why
    if (path := found.writing.get(orphan.pid)) is not None:
        return f"it lost its parent, but writes to {path}"
    if now - orphan.started_at < older_s:
        return f"started {text.duration(now - orphan.started_at)} ago"
    return None


def _inherited(orphans: Iterable[Process], reasons: Mapping[int, str], ours: frozenset[int]) -> dict[int, str]:
    """What was started by a process that stays, stays; what was started by one that may be a run of its own, too.

    Parents come before their children. `ours`: of the watched run, so none of these is one of its own.
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


def _first(spared: list[Spared]) -> str:
    return f"{spared[0].what}: {spared[0].why}"
