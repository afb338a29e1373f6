"""The stacks of processes on other nodes, as py-spy told them there."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hangtop.common.clean_text import clean_text
from hangtop.probe.nodes.node_link import NodeLink
from hangtop.probe.stacks import pyspy
from hangtop.probe.stacks.source_lines import FileElsewhere
from hangtop.records.nodes import node_of, on_node, pid_there
from hangtop.records.stack import Stack, Thread
from hangtop.system.processes.kernel_threads import HIDDEN, wait_of

ROUND_TRIP_S = 3.0
"""Beyond what the dumps themselves may take there."""
NEXT_S = 0.02
MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What an answer of another form raises."""


class NodeStacks:
    """One question to all nodes that have processes of it. It is asked at once; `answers` gives each stack as it comes."""

    def __init__(self, nodes: Mapping[int, NodeLink], ask: int, pids: Iterable[int]) -> None:
        self._ask, self._until = ask, time.monotonic() + 2 * pyspy.LIMIT_S + ROUND_TRIP_S
        self._open: dict[NodeLink, set[int]] = {}
        self.sources: dict[str, FileElsewhere] = {}
        """The source files of the stacks so far, by path; of one that differs between nodes, the last."""
        wanted: dict[int, list[int]] = defaultdict(list)
        for pid in pids:
            wanted[node_of(pid)].append(pid)
        for node, there in wanted.items():
            if (link := nodes.get(node)) is not None:
                self._open[link] = set(there)
                link.ask_stacks(ask, tuple(map(pid_there, there)), pyspy.LIMIT_S)

    def answers(self) -> Iterator[Stack]:
        """Ends when all nodes have answered or are too late."""
        while self._open:
            late = time.monotonic() > self._until
            for link, missing in list(self._open.items()):
                for record in link.answers(self._ask):
                    if "asked" in record:
                        yield from self._end(link, record.get("error") or "")
                        break
                    try:
                        stack, sources = stack_of(link, record), sources_of(record)
                    except MALFORMED as error:
                        yield from self._end(link, f"{link.host}: it answers what is no stack: {error!r:.80}")
                        break
                    self.sources |= sources
                    missing.discard(stack.pid)
                    yield stack
                if late and link in self._open:
                    yield from self._end(link, f"{link.host} did not answer in time")
            time.sleep(NEXT_S)

    def _end(self, link: NodeLink, problem: str) -> Iterator[Stack]:
        missing = self._open.pop(link)
        link.forget(self._ask)
        if problem:
            yield from (Stack(pid, 0.0, problem=problem) for pid in sorted(missing))


def sources_of(record: Mapping[str, Any]) -> dict[str, FileElsewhere]:
    """The source files of one answer, by the name that its frames have."""
    told = record.get("sources") or {}
    return {name: FileElsewhere(path, sha1, changed) for name, (sha1, changed, path) in told.items()}


def stack_of(link: NodeLink, record: Mapping[str, Any]) -> Stack:
    """One process there as py-spy saw it, with the kernel's state of its threads."""
    pid = on_node(link.node, record["pid"])
    if "start" not in record:
        return Stack(pid, 0.0, problem=clean_text(record["error"]))
    at, tasks = record["at"] - link.offset_s, record["tasks"]
    stack = Stack(pid, at, started_ticks=record["start"], state=clean_text(record["state"])[:1])
    if record["dump"] is None:
        error = clean_text(record["error"])
        mend = f"on {link.host}: pip install py-spy" if "not found" in error else None
        return replace(stack, problem=f"{link.host}: {error}", mend=mend)
    dump = pyspy.read(record["pid"], record["dump"].encode())
    if dump.error is not None:
        return replace(stack, problem=f"{link.host}: {dump.error}")
    machine = link.hello.machine
    threads = ((pyspy.thread(spied), tasks.get(str(spied.os_thread_id or record["pid"]))) for spied in dump.threads)
    return replace(stack, threads=tuple(_thread(thread, link.node, known, machine) for thread, known in threads))


def _thread(thread: Thread, node: int, known: Sequence[str] | None, machine: str) -> Thread:
    """With the kernel's state of it: the letter, the function and the system call in which it waits."""
    tid = on_node(node, thread.tid) if thread.tid else None
    if known is None:
        return replace(thread, tid=tid)
    state, wchan, call = clean_text(known[0])[:1], clean_text(known[1]), known[2]
    wait = None if state == "R" else wait_of(wchan, call.split()[0] if call else "", machine)
    return replace(thread, tid=tid, state=state, wait=wait, wchan=None if wchan in HIDDEN else wchan)
