"""What the machine's own signals say of the run: its kernel's log, ports, file servers, cores. Pure.

Of the kernel's log only what came since the run began counts, and of what names a pid only what names one of the run."""

from __future__ import annotations

from collections.abc import Iterator

from hangtop.common.text import clock, duration, numbered, size, some
from hangtop.records.host_signals import HostSignals, KernelEvent
from hangtop.records.process import Process
from hangtop.records.verdict import Evidence
from hangtop.records.waiting import TcpSocket
from hangtop.state.run_state import RunState

BEFORE_S = 5.0
"""The kernel's clock and start times are known to about a second; a machine in trouble is late besides."""
DEATH_WITHIN_S = 30.0
"""An end is seen within some seconds after the kernel tells of it."""
SLOW_SERVER_MS, LEAST_REQUESTS = 500.0, 5
"""A busy file server answers in milliseconds, a far one in tens of them (nfsiostat(8) shows the same mean)."""
AGAIN_PART = 0.01
"""Of TCP segments: in a data centre some in 100,000 are sent again; from 1 % on throughput falls to a fraction (Mathis et al.,
"The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", 1997: it goes with one by the root of the loss)."""
LEAST_SEGMENTS = 200
SWAP_B_S = 1 << 20
QUOTA_PART = 0.25
PLAIN = {"xid": "Xid", "disk": "a disk error", "hardware": "a hardware error", "port down": "a port went down"}


def troubles(state: RunState) -> list[str]:
    """Gravest first, a line each."""
    signals, since = state.signals, _began(state)
    if signals is None:
        return []
    events = [event for event in signals.kernel if since is not None and event.at >= since - BEFORE_S]
    return [*_deaths(events, state), *_silent_servers(events), *_reported(events), *_ports(signals)]


def slow_signals(signals: HostSignals | None, ranks: dict[int, int]) -> tuple[Evidence, ...]:
    """What slows a run down, each with the page that says what to do. `ranks`: by pid."""
    return () if signals is None else tuple(Evidence("host", line, page=page) for page, line in _slow(signals, ranks))


def sent_again(state: RunState, ranks: dict[int, int]) -> tuple[Evidence, ...]:
    """The connection of each rank that loses most on its way, as the last watch saw it. `ranks`: by pid."""
    watched = state.waits.processes if state.waits is not None else ()
    found = ((ranks[process.pid], moves.last) for process in watched if process.pid in ranks for moves in process.sockets)
    lost = [(_part_again(row), rank, row) for rank, row in found if _part_again(row) >= AGAIN_PART]
    worst = {rank: (part, row) for part, rank, row in sorted(lost, key=lambda each: each[0])}
    return tuple(
        Evidence("host", f"rank {rank} sends {part:.0%} of its segments to {row.remote} again", page="slow_network")
        for rank, (part, row) in sorted(worst.items())
    )


def _part_again(row: TcpSocket) -> float:
    sent = row.segments_out or 0
    return (row.segments_again or 0) / sent if sent >= LEAST_SEGMENTS else 0.0


def killed_for_memory(state: RunState, process: Process) -> KernelEvent | None:
    """The line in which the kernel says that it killed this process."""
    signals = state.signals
    if signals is None or not signals.pids_are_ours:
        return None
    ended_at = process.state_since
    named = (event for event in signals.kernel if event.kind == "oom" and event.pid == process.pid)
    in_its_life = (event for event in named if event.at >= process.started_at - BEFORE_S)
    return next((event for event in in_its_life if ended_at is None or event.at <= ended_at + DEATH_WITHIN_S), None)


def _began(state: RunState) -> float | None:
    """When the oldest process of the run began; `None` while none is known."""
    if state.procs is None:
        return None
    return min((process.started_at for process in (*state.procs.processes, *state.procs.ended)), default=None)


def _deaths(events: list[KernelEvent], state: RunState) -> Iterator[str]:
    """A process of the run that the kernel names."""
    if state.signals is None or not state.signals.pids_are_ours or state.procs is None:
        return
    ours = {process.pid: process for process in (*state.procs.processes, *state.procs.ended)}
    for event in events:
        process = ours.get(event.pid or 0)
        if process is None or event.at < process.started_at - BEFORE_S:
            continue
        who = f"rank {process.rank}" if process.rank is not None else f"pid {process.pid}"
        at = clock(event.at)
        if event.kind == "fault":
            yield f"the kernel's log: {who} failed in C code at {at}: {event.text}"
        elif event.kind == "blocked":
            yield f"the kernel's log: {who} is blocked for more than {event.code} s, said at {at}"
        elif event.kind == "oom":
            yield f"the kernel's log: {who} was killed for want of memory at {at}"


def _silent_servers(events: list[KernelEvent]) -> Iterator[str]:
    """A server that did not come back since."""
    last = {event.what: event for event in events if event.kind in ("server silent", "server back")}
    for server, event in last.items():
        if event.kind == "server silent":
            yield f"the kernel's log: file server {server} does not answer since {clock(event.at)}"


def _reported(events: list[KernelEvent]) -> Iterator[str]:
    """The newest line of each other kind and thing."""
    last = {(event.kind, event.what, event.code): event for event in events if event.kind in PLAIN}
    for event in last.values():
        what = f"Xid {event.code} of GPU {event.what}" if event.kind == "xid" else PLAIN[event.kind]
        yield f"the kernel's log: {what} at {clock(event.at)}: {event.text}"


def _ports(signals: HostSignals) -> Iterator[str]:
    """A port that is down beside others that work: one that never had a cable is no news where none works."""
    if any(port.state == "ACTIVE" for port in signals.ports):
        for port in signals.ports:
            if port.state not in ("ACTIVE", ""):
                yield f"port {port.name} is {port.state.lower()}"


def _slow(signals: HostSignals, ranks: dict[int, int]) -> Iterator[tuple[str, str]]:
    for listed, pids in signals.pinned:
        yield "slow_cores", f"{numbered('rank', [ranks.get(pid, pid) for pid in pids])} may run on core {listed} alone"
    if signals.quota_part is not None and signals.quota_part >= QUOTA_PART and signals.quota_cores is not None:
        yield (
            "slow_cores",
            f"the CPU quota of {signals.quota_cores:g} cores stops the run in {_tens(signals.quota_part)} % of the periods",
        )
    if signals.throttled:
        yield "slow_cores", f"the processor slowed down for its heat {some(signals.throttled, 'time')}"
    for mount in signals.mounts:
        if mount.mean_ms is not None and mount.mean_ms >= SLOW_SERVER_MS and mount.requests >= LEAST_REQUESTS:
            yield "slow_data", f"{mount.server} ({mount.path}) takes {mount.mean_ms / 1000:.1f} s for a request"
    if signals.again_part is not None and signals.again_part >= AGAIN_PART:
        yield "slow_network", f"{signals.again_part:.0%} of the TCP segments of this machine are sent again"
    for port in signals.ports:
        if port.errors:
            errors = ", ".join(f"{count:,} {name}" for name, count in port.errors.items())
            yield "slow_network", f"port {port.name}: {errors} in {duration(port.since_s)}"
    if signals.swap_in_b_s is not None and signals.swap_in_b_s >= SWAP_B_S:
        yield "slow_machine", f"memory comes back from swap at {size(signals.swap_in_b_s)} a second"


def _tens(part: float) -> int:
    """In steps, so that the line stands still."""
    return 10 * round(10 * part)
