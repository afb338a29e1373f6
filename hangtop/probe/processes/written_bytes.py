"""Who has not written a log: the bytes of write calls, which the kernel counts for each process (proc_pid_io(5), `wchar`).

They rule out and prove nothing: a program that only names the log may write much, and whenever the log grows, as an uploader
does. But who has not written a byte in all its life, or none while the log was written again and again, has not written the log.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import partial

from msgspec import Struct

from hangtop.system.guard import Guard
from hangtop.system.processes.table import Details, Identity, ProcessTable

SILENT_TIMES = 2
"""A line may come between the look at the log and that at the counters: once proves nothing, twice does."""


class ByteMark(Struct, frozen=True):
    """How many bytes had been written when the log was last written at `log_at` (unix time), and how often it was since then."""

    written_bytes: int
    log_at: float
    times: int = 0


class WrittenBytes:
    """Remembers the counters of processes, each with all that it started, from look to look."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[Identity, Details] = Guard()
        self._marks: dict[Identity, ByteMark] = {}
        self._counts: bool | None = None

    def rules_out(self, trees: Mapping[Identity, Collection[int]], log_at: float) -> frozenset[Identity]:
        """Which of these have not written the log. `trees`: each with the pids of it and its descendants. `log_at`: when the log
        was written last."""
        written = self._bytes(trees)
        self._marks = {
            identity: mark_of(self._marks.get(identity), count, log_at)
            for identity, count in written.items()
            if count is not None
        }
        return frozenset(
            identity for identity, mark in self._marks.items() if not mark.written_bytes or mark.times >= SILENT_TIMES
        )

    def _bytes(self, trees: Mapping[Identity, Collection[int]]) -> dict[Identity, int | None]:
        """`None` where one of them does not tell."""
        if self._counts is None:
            self._counts = _is_counted(self._table)
        stats = self._table.stats
        due = {stats[pid].identity: partial(self._table.details, pid) for tree in trees.values() for pid in tree if pid in stats}
        answers = self._guard.ask(due) if self._counts else {}
        told = {each.pid: answer.written_bytes for each, answer in answers.items() if isinstance(answer, Details)}
        return {identity: _sum([told.get(pid) for pid in tree]) for identity, tree in trees.items()}


def mark_of(before: ByteMark | None, written_bytes: int, log_at: float) -> ByteMark:
    """The mark after another look."""
    if before is None or written_bytes != before.written_bytes:
        return ByteMark(written_bytes, log_at)
    return before if log_at <= before.log_at else ByteMark(written_bytes, log_at, before.times + 1)


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _is_counted(table: ProcessTable) -> bool:
    """Whether this kernel counts at all: a byte of our own shows it."""
    with open(os.devnull, "wb", buffering=0) as nowhere:
        nowhere.write(b".")
    try:
        return bool(table.details(os.getpid()).written_bytes)
    except OSError:
        return False
