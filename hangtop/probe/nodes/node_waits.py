"""What is waited for on other nodes: which process there holds the far end of a connection, or the lock for which a rank there
waits, what it waits for in turn, and what moves there.

An end is found by both addresses of its connection, on both machines, and by what the kernels counted on it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.clean_text import clean_text
from hangtop.common.clean_words import clean_words
from hangtop.common.grouped import grouped
from hangtop.probe.nodes.node_link import NodeLink
from hangtop.probe.nodes.node_locks import NodeLocks, locks_told
from hangtop.probe.waits.samples import Moment, Sample
from hangtop.probe.waits.surroundings import unlike
from hangtop.probe.waits.windows import busy_in, changed_in, main_s, samples_of, socket_moves, thread_moves, woken_in
from hangtop.records.nodes import node_of, on_node, pid_there
from hangtop.records.waiting import AwaitedFile, BlockedCall, ObjectKind, OtherEnd, TcpSocket, ThreadWait, WaitObject, port_of
from hangtop.records.watched_waits import WatchedProcess
from hangtop.system.processes.kernel_threads import HIDDEN, wait_of
from hangtop.system.waits.call_limits import rest_of
from hangtop.system.waits.calls import (
    POLLFD,
    awaited_child,
    files_of,
    int_of,
    is_shared,
    is_timed,
    kind_of,
    parse_call,
    polled,
    watched,
)
from hangtop.system.waits.objects import ANONYMOUS
from hangtop.system.waits.socket_ends import is_local
from hangtop.system.waits.sockets import parse_tcp, raw_ends, tcp_requests

MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What an answer of another form raises."""
MOST_PAIRS, LATE_S = 64, 6.0
ABOVE_STACKS = 1 << 52
"""Added to the number of a question: stacks are asked for at the same moment, and numbered by it in milliseconds."""
OTHERWISE_COUNTED_BYTES, PART = 512, 0.05
"""Of a connection, by one kernel more than by the other: the SYN, and what is under way while both are looked at."""
Ends = tuple[str, str]
"""Local and remote address of one end of a connection."""


class FarProcess(Struct, frozen=True):
    """`sockets`: by its ends. `seen`: the process as it was watched there."""

    seen: WatchedProcess
    sockets: Mapping[Ends, TcpSocket]


class FarWaits:
    """One question to each node; `answers` never waits. `wanted`: our ends of connections that lead elsewhere; `members`: of the
    run, on other nodes."""

    def __init__(
        self,
        nodes: Mapping[int, NodeLink],
        ask: int,
        wanted: Collection[Ends],
        samples: int,
        every_s: float,
        members: Collection[int] = (),
    ) -> None:
        there = grouped(members, node_of)
        self._question = ask + ABOVE_STACKS
        self._nodes = {node: link for node, link in nodes.items() if wanted or node in there}
        self._until = time.monotonic() + samples * every_s + LATE_S
        self._found: list[FarProcess] = []
        ends = [end.hex() for local, remote in sorted(wanted)[:MOST_PAIRS] for end in raw_ends(remote, local)]
        requests = [request.hex() for request in tcp_requests()]
        for node, link in self._nodes.items():
            pids = [pid_there(number) for number in there.get(node, ())]
            link.ask_waits(self._question, ends, requests, samples, every_s, pids)

    def answers(self) -> list[FarProcess]:
        """The processes that were told of so far."""
        for node, link in list(self._nodes.items()):
            for record in link.answers(self._question):
                if "asked" in record:
                    self._nodes.pop(node, None)
                    link.forget(self._question)
                    continue
                try:
                    self._found.append(far_process(link, record))
                except MALFORMED:
                    continue
        return self._found

    @property
    def is_open(self) -> bool:
        """Whether a node may still answer."""
        return bool(self._nodes) and time.monotonic() < self._until

    def close(self) -> None:
        for link in self._nodes.values():
            link.forget(self._question)


def far_process(link: NodeLink, record: Mapping[str, Any]) -> FarProcess:
    """One process as its node tells it; its own ends lead nowhere yet."""
    pid, hello = record["pid"], link.hello
    number = on_node(link.node, pid)
    moments = [_moment(number, link, each) for each in record["moments"]]
    samples = samples_of(moments, number)
    who, now, uid = record["moments"][-1][1][:3]
    rows = moments[-1].sockets
    by_fd = {fd: int(inode) for inode, fds in record["files"].items() for fd in fds}
    there = _There(hello.machine, record["epolls"], {int(clock): float(now) for clock, now in record["clocks"].items()})
    calls = (_call(number, on_node(link.node, each[0]), each[1:], there) for each in record["threads"])
    others = {int(fd): ANONYMOUS.get(str(target).partition(":")[2], "unknown") for fd, target in record["others"].items()}
    locks = locks_told(link.node, record.get("locks", {}))
    threads = tuple(ThreadWait(call, tuple(_ends(call, by_fd, rows, others, locks)), locks.locked(call)) for call in calls)
    moves = socket_moves(None, moments, [inode for inode, row in rows.items() if row.state != "listen"])
    waited = {end.object.inode for thread in threads for end in thread.ends}
    seen = WatchedProcess(
        pid=number,
        start_ticks=who[6],
        state=clean_text(str(now[0]))[:1],
        name=clean_words(str(who[0])),
        command=clean_words(str(record["command"])),
        user=None if uid in (-1, hello.uid) else f"uid {int(uid)}",
        threads=unlike(threads),
        complete=len(threads) == now[3],
        stood=len(samples) > 1 and changed_in(samples) == 0,
        changed_in=changed_in(samples),
        cpu_s=round((samples[-1][1].cpu_ticks - samples[0][1].cpu_ticks) / hello.ticks_per_s, 2),
        main_s=None if (ran := main_s(samples)) is None else round(ran, 4),
        busy_in=busy_in(samples, hello.ticks_per_s),
        moves=thread_moves(samples),
        sockets=tuple(each for each in moves if each.last.inode in waited or each.received_in or each.acked_in or each.queued),
        listens=tuple({port_of(row.local): None for row in rows.values() if row.state == "listen"}),
        woken_in=woken_in(samples),
        ppid=on_node(link.node, who[1]),
        host=link.host,
    )
    return FarProcess(seen, {(row.local, row.remote): row for row in rows.values() if row.state != "listen"})


def _moment(number: int, link: NodeLink, told: Any) -> Moment:
    at, (who, now, _, main_ns, moved, wakes, first), raw = told
    rows = [parse_tcp(bytes.fromhex(each)) for each in raw]
    call = _call(number, number, first, _There(link.hello.machine))
    counted = {number: int(moved)} if moved is not None else {}
    sample = Sample(str(now[0])[:1], who[6], now[1], call, main_ns, counted, wakes)
    return Moment(float(at), {number: sample}, {row.inode: row for row in rows})


class _There(Struct, frozen=True):
    """What is needed to read a call of another machine: its architecture, sets of descriptors by their own one, what its clocks
    showed."""

    machine: str
    epolls: Mapping[str, str] = {}
    clocks: Mapping[int, float] = {}

    def clock(self, number: int) -> float:
        """Raises `OSError` where it was not told."""
        if number not in self.clocks:
            raise OSError(number)
        return self.clocks[number]


def _call(number: int, tid: int, told: Any, there: _There) -> BlockedCall:
    """As `hangtop.system.waits.blocked_call` reads it on this machine, from what the node has read there."""
    state, wchan, line = str(told[0])[:1], clean_text(str(told[1])), str(told[2])
    memory = {int(address): bytes.fromhex(text) for address, text in told[3].items()}
    at = BlockedCall(number, tid, state)
    if state not in "SD":
        return at
    call = parse_call(line, there.machine)
    wait = wait_of(wchan, "" if call is None else str(call.number), there.machine)
    at = replace(at, wait=wait, wchan=None if wchan in HIDDEN else wchan, told_by="nothing" if wchan in HIDDEN else "wchan")
    if call is None or call.spec is None:
        return at
    kind = kind_of(call)
    rest_s, exact = rest_of(call, lambda address, size: memory.get(address, b"")[:size] or None, there.clock)
    at = replace(at, kind=kind, name=call.name, told_by="syscall", timed=is_timed(call), rest_s=rest_s, rest_exact=exact)
    match kind:
        case "poll" if call.name.startswith("epoll"):
            text = there.epolls.get(str(int_of(call.arguments[0])))
            return replace(at, files=watched(text)) if text else replace(at, unread="its epoll set may not be read")
        case "poll":
            listed = memory.get(call.arguments[0], b"") if call.name.endswith("poll") else b""
            whole = len(listed) >= POLLFD.size * int_of(call.arguments[1])
            return replace(at, files=polled(listed)) if listed and whole else replace(at, unread="its memory may not be read")
        case "futex":
            return replace(at, shared=is_shared(call))
        case "child":
            return replace(at, child=awaited_child(call))
        case "open":
            return at
    return replace(at, files=files_of(call))


def _ends(
    call: BlockedCall,
    by_fd: Mapping[int, int],
    rows: Mapping[int, TcpSocket],
    others: Mapping[int, ObjectKind],
    locks: NodeLocks,
) -> Iterator[OtherEnd]:
    """What it waits at, as far as that is a connection, a lock, its own memory or its own clocks; the rest is not known from
    here."""
    if call.kind == "file lock":
        yield from locks.ends(call)
        return
    if call.kind == "futex":
        alone = call.shared is False
        yield OtherEnd(WaitObject("futex", shared=call.shared), (call.pid,) if alone else (), known=alone)
    for file in call.files:
        yield _end(file, rows.get(by_fd.get(file.fd, -1)), others.get(file.fd, "unknown"))


def _end(file: AwaitedFile, row: TcpSocket | None, kind: ObjectKind) -> OtherEnd:
    if row is None:
        return OtherEnd(WaitObject(kind, file.reads, file.writes), known=False)
    shown = WaitObject("tcp", file.reads, file.writes, row.inode, local=row.local, remote=row.remote, tcp_state=row.state)
    if row.state in ("listen", "closed"):
        return OtherEnd(shown, known=False)
    return OtherEnd(shown, known=not is_local(row), elsewhere=not is_local(row))


def with_far_ends(
    here: Iterable[WatchedProcess], far: Collection[FarProcess], sockets: Mapping[Ends, tuple[int, TcpSocket]]
) -> tuple[WatchedProcess, ...]:
    """All of them, each end that leads elsewhere with the process that holds the other one, if one of these does. `sockets`: of
    this machine's processes, by their ends, each with its pid."""
    owners = {ends: (each.seen.pid, row) for each in far for ends, row in each.sockets.items()}
    everyone = (*here, *(each.seen for each in far))
    return tuple(_joined(process, {**sockets, **owners}) for process in everyone) if far else everyone


def _joined(process: WatchedProcess, owners: Mapping[Ends, tuple[int, TcpSocket]]) -> WatchedProcess:
    def of(end: OtherEnd) -> OtherEnd:
        own = owners.get((end.object.local, end.object.remote))
        other = owners.get((end.object.remote, end.object.local))
        if not end.elsewhere or own is None or other is None or not agree(own[1], other[1]):
            return end
        return replace(end, pids=(other[0],), elsewhere=False, known=True)

    threads = tuple(replace(thread, ends=tuple(map(of, thread.ends))) for thread in process.threads)
    return replace(process, threads=threads)


def agree(one: TcpSocket, other: TcpSocket) -> bool:
    """Whether these are the two ends of one connection: what one kernel had acknowledged the other has received. Networks of
    containers have the same addresses on many machines."""
    counts = [(a.acked_bytes, b.received_bytes) for a, b in ((one, other), (other, one))]
    known = [(acked, received) for acked, received in counts if acked is not None and received is not None]
    return len(known) == 2 and all(
        abs(acked - received) <= max(OTHERWISE_COUNTED_BYTES, PART * received) for acked, received in known
    )
