"""The source "torchdebug": what the debug servers of a run tell of its ranks, wherever these are.

A look finds the servers on this machine and sends nothing. They are asked only on a question, which comes when the run is quiet.
The front end is asked for ranks elsewhere alone, and once: it writes a line about each visitor into the log of the run. What asks
them is imported with the first question: HTTP and pickles cost 20 ms and 5 MB, and most runs have no such server.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hangtop.probe.context import ProbeContext
from hangtop.probe.http.at_once import run_at_once
from hangtop.probe.source import Absent, Source
from hangtop.probe.torch_debug.dump_files import dumped_stacks, newest_dump
from hangtop.probe.torch_debug.worker_servers import LIMIT_S, Address, LocalServers, addresses, local_servers
from hangtop.records.ask import KnownRank, TorchDebugAsk
from hangtop.records.nccl import FlightDump, NcclReading
from hangtop.records.nodes import node_of
from hangtop.records.ray.remote_workers import RemoteStacksReading
from hangtop.records.reading import Value
from hangtop.records.stack import Stack, StacksReading, Thread
from hangtop.records.torch_debug import TorchDebugReading
from hangtop.system.processes.kernel_threads import kernel_thread
from hangtop.system.processes.open_table import open_table

if TYPE_CHECKING:
    from hangtop.probe.torch_debug.server_replies import ServerReply

AT_ONCE = 16
WHOLE_S = 10.0
"""For all servers together: 512 of them take 2 s where all answer."""
WAIT_FOR_MEMBERS_S = 0.2
AGAIN_S = 10.0
PAGE = "/tcpstore"
NONE = "no rank has a debug server: torch.distributed.debug.start_debug_server() in the program, PyTorch 2.10 and later"
LATE = f"no answer within {WHOLE_S:g} s"


class TorchDebugSource(Source):
    """Finds the servers by itself, asks them when it is asked."""

    deadline_s = WHOLE_S + 2 * LIMIT_S

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._table = open_table()
        self._local = LocalServers()
        self._elsewhere: Mapping[int, Address] = {}
        self._problem: str | None = None
        self._found = False

    @property
    def interval_s(self) -> float:
        return WAIT_FOR_MEMBERS_S if self._waits() else AGAIN_S

    def read(self, now: float) -> Iterable[Value]:
        """Whether there are any, once. Raises `Absent` where there are none."""
        if self._waits() or self._found:
            return
        self._local = self._look()
        self._found = bool(self._local.ranks or self._context.spec.torch_debug or self._dump())
        if not self._found:
            raise Absent(NONE)
        yield TorchDebugReading(at=now, asked=len(self._local.ranks))

    def answer(self, ask: TorchDebugAsk, now: float) -> Iterator[Value]:
        """What each rank tells, in one part: dumps of different moments would not compare."""
        from hangtop.probe.stacks import source_lines

        self._local = self._look()
        known = {each.rank: each for each in ask.known}
        servers = self._servers(known)
        began, at = time.monotonic(), now
        replies = _ask_all(servers, frozenset(rank for rank, each in known.items() if each.seen))
        dumps = tuple(
            FlightDump(rank, f"http://{servers[rank].text}", at, reply.groups, asked=True)
            for rank, reply in sorted(replies.items())
            if reply.groups
        )
        if dumps:
            yield NcclReading(at, dumps=dumps)
        stacks = [_stack(known.get(rank), rank, servers[rank], reply, at) for rank, reply in sorted(replies.items())]
        told = [stack for stack in stacks if stack.threads]
        far = tuple(stack for stack in told if stack.host is not None)
        here = tuple(stack for stack in told if stack.host is None)
        far += tuple(self._written(frozenset(known) | {rank for rank, reply in replies.items() if reply.threads}))
        if far:
            yield RemoteStacksReading(ask.ask, at, len(far), far, done=True)
        if here:
            pids, took_s = tuple(stack.pid for stack in here), round(time.monotonic() - began, 3)
            yield StacksReading(ask.ask, pids, here, started_at=at, took_s=took_s, done=True)
            if lines := source_lines.around(stack for stack in here if not node_of(stack.pid)):
                yield StacksReading(ask.ask, excerpts=lines)
        problem = _problem(servers, replies) or self._problem
        yield TorchDebugReading(ask.ask, at, len(servers), tuple(stack.pid for stack in here), problem)

    def _waits(self) -> bool:
        """Whether the processes of the run are not known yet, or the log may still name a folder."""
        sources, log = self._context.spec.sources, self._context.log
        return (self._context.members is None and "procs" in sources) or (
            "log" in sources and bool(self._context.spec.logs) and (log is None or not log.caught_up)
        )

    def _look(self) -> LocalServers:
        members = self._context.members
        if not members:
            return LocalServers()
        self._table.refresh(())
        procs = self._context.procs
        met = procs.rendezvous if procs is not None else None
        return local_servers(self._table, members, frozenset(() if met is None else (met.port,)))

    def _dump(self) -> str | None:
        """The newest file of the periodic dumper, in the folder that the log names: from where rank 0 stands, else beside the
        log, which may lie elsewhere than the run."""
        log = self._context.log
        if log is None or not log.stack_dumps:
            return None
        beside = [os.path.dirname(file.path) for file in self._context.files[:1]]
        stands = [f"/proc/{each.pid}/cwd" for each in self._context.members or () if each.rank == 0 and not node_of(each.pid)]
        return newest_dump(os.path.join(folder, log.stack_dumps) for folder in (*stands, *beside))

    def _written(self, told: frozenset[int]) -> Iterator[Stack]:
        """Of the ranks of which nobody tells now: where they stood when the dumper wrote last."""
        if (path := self._dump()) is not None:
            with suppress(OSError):  # it was removed
                yield from (stack for stack in dumped_stacks(path) if stack.rank not in told)

    def _servers(self, known: Mapping[int, KnownRank]) -> dict[int, Address]:
        """By rank. A rank here may listen at several ports, of which one is the server."""
        here = {rank: _server_of(ports) for rank, ports in self._local.ranks.items()}
        members = self._context.members or ()
        world = max((member.world or 0 for member in members), default=0)
        if self._context.spec.torch_debug or world > len(here):
            self._elsewhere = self._elsewhere or self._told_by_front_end()
        return {**self._elsewhere, **here}

    def _told_by_front_end(self) -> Mapping[int, Address]:
        from hangtop.probe.torch_debug.server_replies import front_end_page

        self._problem = None
        host, _, port = self._context.spec.torch_debug.rpartition(":")
        fronts = (Address(host.strip("[]"), int(port)),) if host else self._local.front_ends
        for front in fronts:
            answer = front_end_page(front, PAGE)
            if answer.ok and (found := addresses(answer.body)):
                return found
            why = "it tells no addresses of ranks" if answer.ok else answer.in_words
            self._problem = f"debug server at {front.text}: {why}"
        return {}


def _server_of(ports: tuple[Address, ...]) -> Address:
    """The one of these that answers as a server does; the first where none does, which then says why."""
    if len(ports) == 1:
        return ports[0]
    from hangtop.probe.torch_debug.server_replies import ask_server

    return next((each for each in ports if ask_server(each, stacks=False).problem is None), ports[0])


def _ask_all(servers: Mapping[int, Address], seen: frozenset[int]) -> dict[int, ServerReply]:
    from hangtop.probe.torch_debug.server_replies import ServerReply, ask_server

    replies = dict.fromkeys(servers, ServerReply(problem=LATE))

    def ask(rank: int) -> None:
        replies[rank] = ask_server(servers[rank], stacks=rank not in seen)

    run_at_once([partial(ask, rank) for rank in servers], WHOLE_S, AT_ONCE)
    return dict(replies)


def _stack(known: KnownRank | None, rank: int, server: Address, reply: ServerReply, at: float) -> Stack:
    """Of a process that is known under its number, else of a rank of another machine."""
    if known is None:
        return Stack(0, at, reply.threads, rank=rank, host=server.host)
    threads = reply.threads
    if not node_of(known.pid):
        threads = tuple(_here(known.pid, thread) for thread in threads)
    return Stack(known.pid, at, threads, started_ticks=known.start_ticks)


def _here(pid: int, thread: Thread) -> Thread:
    """The main thread with the kernel's state of it; of others nothing tells which of the kernel's threads they are."""
    if thread.name != "MainThread":
        return thread
    stands = kernel_thread(pid, pid)
    return replace(thread, tid=pid, state=stands.state, wait=stands.wait, wchan=stands.wchan)


def _problem(servers: Mapping[int, Address], replies: Mapping[int, ServerReply]) -> str | None:
    """Who told nothing, in one line."""
    failed = {rank: reply.problem for rank, reply in sorted(replies.items()) if reply.problem}
    if not failed:
        return None
    rank, why = next(iter(failed.items()))
    return f"{len(failed)} of {len(servers)} debug servers told nothing: rank {rank} at {servers[rank].text}: {why}"
