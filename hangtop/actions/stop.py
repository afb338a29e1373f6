"""Stop the run, or one rank: the plan. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from hangtop.model import RunState
from hangtop.records.plan import Plan, Refusal, Spared, Target
from hangtop.records.process import Process

STAYS = frozenset({"ray daemon"})
"""Roles that a stop of the run leaves alone: they serve other runs too."""


class Myself(Struct, frozen=True):
    """Who asks: hangtop's own process, everything above it (the shell, the SSH session), and the user."""

    pid: int
    ancestors: frozenset[int]
    uid: int


def plan(state: RunState, me: Myself, rank: int | None = None) -> Plan | Refusal:
    """The processes of the run, or of one rank, that are ours to stop, children before parents."""
    procs = state.procs
    if procs is None or not procs.processes:
        return Refusal("no process of this run is known on this machine: give --pid, or run hangtop where it runs")
    chosen = _of_rank(procs.processes, rank) if rank is not None else list(procs.processes)
    if not chosen:
        return Refusal(f"no process of rank {rank} is known on this machine")
    spared = [(process, why) for process in chosen if (why := _why_not(process, me)) is not None]
    kept = {process.pid for process, _ in spared}
    targets = [process for process in chosen if process.pid not in kept]
    if not targets:
        return Refusal("nothing to stop: " + "; ".join(sorted({why for _, why in spared})))
    what = f"rank {rank}" if rank is not None else "the run"
    return Plan(
        action="stop",
        title=f"Stop {what}: {len(targets)} {'process' if len(targets) == 1 else 'processes'}",
        targets=tuple(map(_target, _deepest_first(targets))),
        spared=tuple(Spared(f"pid {process.pid} {process.name}", why) for process, why in spared),
        warnings=tuple(_warnings(targets)),
        word="stop",
    )


def _of_rank(processes: Iterable[Process], rank: int) -> list[Process]:
    """The processes of a rank and everything below them."""
    listed = list(processes)
    members = {process.pid for process in listed if process.rank == rank}
    grew = True
    while grew:
        below = {process.pid for process in listed if process.ppid in members} - members
        members |= below
        grew = bool(below)
    return [process for process in listed if process.pid in members]


def _why_not(process: Process, me: Myself) -> str | None:
    """Why this process must not be signalled."""
    if process.pid <= 1:
        return "pid 1 keeps the machine or the container alive"
    if process.pid == me.pid:
        return "this is hangtop"
    if process.pid in me.ancestors:
        return "hangtop runs below it: your shell or session"
    if process.uid is None:
        return "whose it is cannot be seen"
    if process.uid != me.uid:
        return f"it belongs to {process.user or process.uid}"
    if process.role in STAYS:
        return "it serves the whole Ray session"
    if process.state in ("Z", "X"):
        return "it is dead already and waits for its parent to reap it"
    return None


def _deepest_first(processes: Collection[Process]) -> list[Process]:
    parents = {process.pid: process.ppid for process in processes}
    return sorted(processes, key=lambda process: (-_depth(process.pid, parents), process.pid))


def _depth(pid: int, parents: Mapping[int, int]) -> int:
    seen: set[int] = set()
    while pid in parents and pid not in seen:
        seen.add(pid)
        pid = parents[pid]
    return len(seen)


def _warnings(targets: Iterable[Process]) -> Iterable[str]:
    for process in targets:
        if process.state == "D":
            yield f"pid {process.pid} is {process.doing}: no signal reaches it until its mount or GPU answers"
        if process.tracer_pid:
            yield f"pid {process.pid} is {process.doing}: end the debugger if it survives"


def _target(process: Process) -> Target:
    return Target(
        pid=process.pid,
        start_ticks=process.start_ticks,
        started_at=process.started_at,
        command=process.command,
        state=process.state,
        user=process.user,
        rank=process.rank,
        role=process.role,
        rss_bytes=process.rss_bytes,
    )
