"""What the machine says beside the run: memory and disks that fill, kills for want of memory, memory that grows. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from hangtop.common.text import age, clock, numbered, size, some
from hangtop.diagnosis.facts.host_signals import killed_for_memory, troubles
from hangtop.records.host import Disk, HostReading
from hangtop.records.process import Process
from hangtop.records.samples import growth
from hangtop.records.verdict import Evidence
from hangtop.state.run_state import RunState

FULL_PART = 0.95
FILLING_PART = 0.8
FULL_SOON_S, FULL_AT_ONCE_S = 900.0, 60.0
"""A disk that fills is told when it is full within the first, from `FILLING_PART` on; before that only within the second: a
checkpoint fills a disk fast for a minute, and then no more."""
MEMORY_PART = 0.9
OOM_FOR_S = 3_600.0
KILLED_WITHIN_S = 30.0
"""The kernel's count is seen this much before or after the end of the process that it killed."""
SIGKILL = -9
STALL_PERCENT = 10.0
"""A tenth of the time lost is no noise: on two cores with 27 tasks at work both stood at 0."""
GROWTH_BYTES = 256 << 20
FULL_IN_S = 48 * 3600.0
"""Memory that is full later than this is not told as full."""
G = 2**30


def host_evidence(state: RunState, now: float) -> tuple[Evidence, ...]:
    """Gravest first; nothing where all is usual."""
    machine = state.machine
    told = [] if machine is None else [*short_memory(machine, now), *(line for disk in machine.disks for line in _disk(disk))]
    told += troubles(state)
    grows = (Evidence("host", line, page="memory_grows") for line in _grows(state))
    return (*(Evidence("host", line) for line in told), *grows)


def stall_evidence(machine: HostReading | None) -> tuple[Evidence, ...]:
    """What slows all of this machine down, memory first."""
    return () if machine is None else tuple(Evidence("host", line, page=page) for page, line in _stalls(machine))


def want_of_memory(state: RunState, process: Process) -> Evidence | None:
    """Why this process, ended by SIGKILL or nobody knows how, was killed for want of memory; `None`: nothing says so. It is but
    possible (`supports` is `None`) where only the count of its limit speaks for it, which may be of an earlier run."""
    machine = state.machine
    if process.exit_code not in (SIGKILL, None):
        return None
    if (told := killed_for_memory(state, process)) is not None:
        return Evidence("host", f"the kernel's log: it killed pid {process.pid} for want of memory at {clock(told.at)}")
    if machine is None:
        return None
    if machine.oom_at is not None and abs(machine.oom_at - (process.state_since or machine.oom_at)) <= KILLED_WITHIN_S:
        return Evidence("host", f"the kernel's out-of-memory killer struck at {clock(machine.oom_at)}")
    if machine.oom_at is None and machine.oom_kills and machine.cgroup_limit_bytes and process.exit_code == SIGKILL:
        limit = size(machine.cgroup_limit_bytes)
        return Evidence("host", f"the run's memory limit of {limit} has killed {some(machine.oom_kills, 'process')}", None)
    return None


def short_memory(machine: HostReading, now: float) -> Iterator[str]:
    """What says that memory runs out, or has."""
    if machine.oom_at is not None and now - machine.oom_at < OOM_FOR_S:
        yield f"the kernel killed a process for want of memory at {clock(machine.oom_at)}"
    limit, used = machine.cgroup_limit_bytes, machine.cgroup_used_bytes
    if limit and used is not None and used > MEMORY_PART * limit:
        yield f"memory {used / limit:.0%} of the limit of {size(limit)}"
    total, free = machine.memory_bytes, machine.available_bytes
    if total and free is not None and free < (1 - MEMORY_PART) * total:
        yield f"memory: {size(free)} free of {size(total)}"


def _stalls(machine: HostReading) -> Iterator[tuple[str, str]]:
    """What everybody waited for in the last minute, each with its page."""
    memory, io = machine.memory_stall_percent or 0.0, machine.io_stall_percent or 0.0
    if memory >= STALL_PERCENT:
        swap = f", {size(machine.swap_used_bytes)} swapped out" if machine.swap_used_bytes else ""
        yield "slow_machine", f"memory pressure: nobody could work for {_rounded(memory)} % of the last minute{swap}"
    if io >= STALL_PERCENT:
        yield "slow_data", f"disks: nobody could work for {_rounded(io)} % of the last minute for want of them"


def _rounded(percent: float) -> int:
    """In steps, so that the line stands still."""
    return 5 * round(percent / 5)


def full_disks(machine: HostReading) -> Iterator[str]:
    """The disks that are full or fill up, a line each."""
    return (line for disk in machine.disks for line in _disk(disk))


def _disk(disk: Disk) -> Iterator[str]:
    if disk.problem is not None:
        yield f"{disk.path}: {disk.problem}"
        return
    part = 1 - disk.free_bytes / disk.size_bytes if disk.size_bytes else 0.0
    fills_s = disk.free_bytes / disk.growth_b_s if disk.growth_b_s and disk.growth_b_s > 0 else None
    soon = fills_s is not None and 0 < fills_s < (FULL_SOON_S if part >= FILLING_PART else FULL_AT_ONCE_S)
    if part >= FULL_PART or soon:
        when = f", full in {age(fills_s)}" if soon else ""
        yield f"{disk.path} {part:.0%} full, {size(disk.free_bytes)} free{when}"
    if disk.files_free_part is not None and 1 - disk.files_free_part >= FULL_PART:
        used = 1 - disk.files_free_part
        yield f"{disk.path} {used:.0%} of its inodes used: once none is left no file can be made, whatever space is free"


def _grows(state: RunState) -> Iterator[str]:
    """Processes that hold ever more memory over the whole watch, with what they started, and when memory will be full."""
    rates = {key: rate for key, track in state.tracks.items() if (rate := growth(track.held_bytes, least=GROWTH_BYTES))}
    if not rates:
        return
    here = ((host, process) for host, reading in state.processes.items() for process in reading.processes)
    numbers = {(host, process.pid, process.start_ticks): process.rank for host, process in here}
    ranks = {rank for key in rates if (rank := numbers.get(key)) is not None}
    who = numbered("rank", ranks) if len(ranks) == len(rates) else ", ".join(f"pid {pid}" for _, pid, _ in sorted(rates))
    each = " each" if len(rates) > 1 else ""
    step_s = state.log.pace.lately_s or state.log.pace.mean_s if state.log is not None else None
    per_step = f" ({size(int(max(rates.values()) * step_s / 3600))} a step)" if step_s else ""
    machine = state.machine or HostReading(cores=0)
    limit, used = machine.cgroup_limit_bytes, machine.cgroup_used_bytes
    rests = (machine.available_bytes, None if limit is None or used is None else max(0, limit - used))
    left = min((rest for rest in rests if rest is not None), default=None)  # bytes that the run may still take
    full_s = None if left is None else 3600 * left / sum(rates.values())
    when = f", full in {age(full_s)}" if full_s is not None and full_s < FULL_IN_S else ""
    yield f"{who}: memory grows by {max(rates.values()) / G:.1f} G an hour{each}{per_step}{when}"
