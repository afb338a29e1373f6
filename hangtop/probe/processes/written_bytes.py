"""Which processes have not written a log, by the bytes of their write calls (proc_pid_io(5), `wchar`).

The counter only rules out: a process that wrote no byte in all its life, or none while the log grew again and again, has not
written the log. It proves nothing: an uploader also writes whenever the log grows.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import partial

from msgspec import Struct

from hangtop.system.guard import Guard
from hangtop.system.processes.table import Details, Identity, ProcessTable

SILENT_TIMES = 2
"""A line may come between reading the log's time and the counters: once proves nothing, twice does."""


class ByteMark(Struct, frozen=True):
    """Bytes written when the log was written at `log_at` (unix time), and how often the log was written since then."""

    written_bytes: int
    log_at: float
    times: int = 0


class WrittenBytes:
    """Remembers the counters of process trees."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[Identity, Details] = Guard()
        self._marks: dict[Identity, ByteMark] = {}
        self._counts: bool | None = None

    def rules_out(self, trees: Mapping[Identity, Collection[int]], log_at: float) -> frozenset[Identity]:
        """The processes that have not written the log. `trees`: each with its own pid and those of its descendants. `log_at`:
        when the log was written last."""
        if self._counts is None:
            self._counts = _is_counted(self._table)
        stats = self._table.stats
        due = {stats[pid].identity: partial(self._table.details, pid) for tree in trees.values() for pid in tree if pid in stats}
        answers = self._guard.known(due) if self._counts else {}
        told = {each.pid: answer.written_bytes for each, answer in answers.items()}
        marks: dict[Identity, ByteMark] = {}
        for identity, tree in trees.items():
            counts = [count for pid in tree if (count := told.get(pid)) is not None]
            if len(counts) == len(tree):  # else a process of it does not tell
                marks[identity] = mark_of(self._marks.get(identity), sum(counts), log_at)
        self._marks = marks
        return frozenset(identity for identity, mark in marks.items() if not mark.written_bytes or mark.times >= SILENT_TIMES)


def mark_of(before: ByteMark | None, written_bytes: int, log_at: float) -> ByteMark:
    """The mark after another look."""
    if before is None or written_bytes != before.written_bytes:
        return ByteMark(written_bytes, log_at)
    return before if log_at <= before.log_at else ByteMark(written_bytes, log_at, before.times + 1)


def _is_counted(table: ProcessTable) -> bool:
    """Whether this kernel counts at all, tried with a byte of our own."""
    with open(os.devnull, "wb", buffering=0) as nowhere:
        nowhere.write(b".")
    try:
        return bool(table.details(os.getpid()).written_bytes)
    except OSError:
        return False
