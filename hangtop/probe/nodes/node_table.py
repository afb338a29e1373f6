"""The process table of another node, as the rows tell it that `hangtop.probe.nodes.node_side` sends.

Its pids are numbers that no process here can have (`hangtop.records.nodes`), its times are by the clock of this machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated

import msgspec
from msgspec.structs import replace

from hangtop.common.clean_text import clean_text
from hangtop.common.raw_text import text_of
from hangtop.records.nodes import on_node
from hangtop.system.processes.table import Details, OpenFile, ProcessTable, Stat

MEBIBYTE = 1 << 20


class Facts(msgspec.Struct, frozen=True):
    command: tuple[str, ...] = ()
    environ: dict[str, str] = {}
    denied: bool = False


Who = tuple[str, int, int, int, int, int, int]
"""Name, parent, group, session, terminal, whether it is a thread of the kernel, start ticks."""
Letter = Annotated[str, msgspec.Meta(pattern="^[A-Za-z]$")]
Now = tuple[Letter, int, int, int, int, int | None]
"""State, CPU ticks, those of children that were waited for, threads, resident MiB, exit status."""


class NodeDetails(Details, frozen=True, array_like=True):
    """As a node sends them: the fields of `Details`, in their order."""


class Row(msgspec.Struct, frozen=True):
    """One process; what did not change since the last row of it is left out. `files`: descriptor, path, whether it may write.
    `outputs`: of a rank, path and whether it is added to."""

    who: Who | None = None
    now: Now | None = None
    details: NodeDetails | None = None
    facts: Facts | None = None
    files: tuple[tuple[int, str, bool], ...] | None = None
    outputs: tuple[tuple[str, bool], ...] | None = None


class Look(msgspec.Struct, frozen=True):
    """What changed since the look before. `at`: unix time there."""

    at: float
    rows: dict[int, Row] = {}
    gone: tuple[int, ...] = ()


class _Known(msgspec.Struct, frozen=True):
    who: Who
    now: Now
    details: Details | None = None
    facts: Facts | None = None
    files: tuple[OpenFile, ...] = ()
    outputs: tuple[tuple[str, bool], ...] = ()


class NodeTable(ProcessTable):
    """`take` is called with each look. What the node has not told yet is asked in vain, as of a process that is gone."""

    def __init__(self, node: int, ticks_per_s: int) -> None:
        self.node, self.ticks_per_s = node, ticks_per_s
        self.boot_at, self.offset_s = 0.0, 0.0
        """When the node was booted, by its clock, and by how much that is ahead of ours."""
        self._known: dict[int, _Known] = {}
        self._stats: dict[int, Stat] = {}

    @property
    def stats(self) -> Mapping[int, Stat]:
        return self._stats

    def take(self, look: Look) -> None:
        for pid in look.gone:
            self._known.pop(on_node(self.node, pid), None)
        for pid, row in look.rows.items():
            number = on_node(self.node, pid)
            known = self._known.get(number)
            who = row.who or (known.who if known is not None else None)
            now = row.now or (known.now if known is not None else None)
            if who is None or now is None:
                continue  # the node tells a process whole at first
            if known is None or known.who[-1] != who[-1]:
                known = _Known(who, now)
            self._known[number] = _Known(
                who,
                now,
                known.details if row.details is None else _cleaned(row.details),
                row.facts or known.facts,
                known.files if row.files is None else tuple(OpenFile(fd, path, writes) for fd, path, writes in row.files),
                known.outputs if row.outputs is None else row.outputs,
            )
        self._stats = {number: self._stat(number, known) for number, known in self._known.items()}

    def _stat(self, number: int, known: _Known) -> Stat:
        name, parent, group, session, terminal, kernel, start_ticks = known.who
        state, cpu_ticks, reaped_ticks, threads, rss_mib, exit_status = known.now
        return Stat(
            pid=number,
            name=name,
            state=state,
            ppid=on_node(self.node, parent),
            group=on_node(self.node, group),
            session=on_node(self.node, session),
            start_ticks=start_ticks,
            cpu_ticks=cpu_ticks,
            threads=threads,
            rss_bytes=rss_mib * MEBIBYTE,
            kernel=bool(kernel),
            exit_status=exit_status,
            reaped_ticks=reaped_ticks,
            terminal=terminal,
        )

    def refresh(self, watched: Collection[int]) -> None:
        """Looks come by themselves."""

    def started_at(self, start_ticks: int) -> float:
        return self.boot_at - self.offset_s + start_ticks / self.ticks_per_s

    def owner(self, pid: int) -> int | None:
        known = self._known.get(pid)
        return None if known is None or known.details is None else known.details.uid

    def command(self, pid: int) -> tuple[str, ...]:
        return tuple(map(text_of, map(str.encode, self._facts(pid).command)))

    def environ(self, pid: int) -> Mapping[str, str]:
        facts = self._facts(pid)
        if facts.denied:
            raise PermissionError(pid)
        return facts.environ

    def cwd(self, pid: int) -> str:
        return ""

    def open_files(self, pid: int) -> tuple[OpenFile, ...]:
        return self._there(pid).files

    def outputs(self, pid: int) -> tuple[tuple[str, bool], ...]:
        """The files to which a rank prints: path there, and whether it is added to."""
        return self._there(pid).outputs

    def details(self, pid: int) -> Details:
        return self._there(pid).details or Details()

    def _facts(self, pid: int) -> Facts:
        """Its row may come before them: then they are asked for again."""
        if (facts := self._there(pid).facts) is None:
            raise TimeoutError(pid)
        return facts

    def _there(self, pid: int) -> _Known:
        if (known := self._known.get(pid)) is None:
            raise ProcessLookupError(pid)
        return known


def _cleaned(details: NodeDetails) -> Details:
    """The name of the kernel's function is text of another machine."""
    return replace(details, wchan=None if details.wchan is None else clean_text(details.wchan))
