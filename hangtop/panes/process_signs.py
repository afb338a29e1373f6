"""Signs of life and death beside the log: checkpoints that grow, disks and memory that fill, ranks that have not met. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hangtop import text
from hangtop.model import RunState
from hangtop.panes.rows import Row
from hangtop.records.host import Disk, HostReading
from hangtop.records.process import ProcessReading, Rendezvous

GROWS_FOR_S = 30.0
"""Bytes that arrived this lately show a save that goes on."""
FULL_PART = 0.95
FULL_SOON_S = 900.0
MEMORY_PART = 0.9
OOM_FOR_S = 3_600.0


def signs(state: RunState, now: float, *, trouble: bool) -> list[Row]:
    """What is notable, gravest first; empty in a run where all is usual. In `trouble` also who has not met the others."""
    machine = state.machine
    return [
        *(_memory(machine, now) if machine is not None else ()),
        *(sign for disk in (machine.disks if machine else ()) for sign in _disk(disk)),
        *(_met(state.procs) if trouble and state.procs is not None else ()),
        *_checkpoint(state, now),
    ]


def _memory(machine: HostReading, now: float) -> Iterable[Row]:
    if machine.oom_at is not None and now - machine.oom_at < OOM_FOR_S:
        yield ((f"the kernel killed for lack of memory at {text.clock(machine.oom_at)}", "warn"),)
    limit, used = machine.cgroup_limit_bytes, machine.cgroup_used_bytes
    if limit and used is not None and used > MEMORY_PART * limit:
        yield ((f"memory {used / limit:.0%} of the limit of {text.size(limit)}", "warn"),)
    total, free = machine.memory_bytes, machine.available_bytes
    if total and free is not None and free < (1 - MEMORY_PART) * total:
        yield ((f"memory: {text.size(free)} free of {text.size(total)}", "warn"),)


def _disk(disk: Disk) -> Iterable[Row]:
    if disk.problem is not None:
        yield ((f"{disk.path}: {disk.problem}", "warn"),)
        return
    part = 1 - disk.free_bytes / disk.size_bytes if disk.size_bytes else 0.0
    fills_s = disk.free_bytes / disk.growth_b_s if disk.growth_b_s and disk.growth_b_s > 0 else None
    soon = fills_s is not None and fills_s < FULL_SOON_S
    if part >= FULL_PART or soon:
        when = f", full in {text.age(fills_s)}" if soon else ""
        yield ((f"{disk.path} {part:.0%} full, {text.size(disk.free_bytes)} free{when}", "warn"),)


def _met(reading: ProcessReading) -> Iterable[Row]:
    """The sockets to MASTER_PORT against the ranks there should be."""
    met: Rendezvous | None = reading.rendezvous
    if met is None:
        return
    place = f"{met.address}:{met.port}"
    world = f" of {met.world}" if met.world else ""
    if met.joined and met.missing:
        ranks = text.numbered("rank", met.missing)
        yield ((f"{ranks} not connected to {place}", "warn"), (f" ({len(met.joined)}{world} here are)", "muted"))
    elif met.listening is False and met.established == 0:
        yield ((f"nobody listens at {place}, 0{world} connected", "warn"),)


def _checkpoint(state: RunState, now: float) -> Iterable[Row]:
    saved = state.checkpoints
    if saved is None or saved.grown_at is None or now - saved.grown_at > GROWS_FOR_S:
        return
    rate = f" by {text.rate(saved.growth_b_s)}" if saved.growth_b_s else ""
    newest = (saved.newest or saved.directory).removeprefix(saved.directory).lstrip("/")
    yield (("checkpoint grows" + rate, "ink"), (f", {newest} {text.size(saved.newest_bytes)}", "muted"))
