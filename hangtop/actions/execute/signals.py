"""Signals that reach exactly the intended process: its start time is checked again, and a pidfd holds it.

A pidfd is opened first and the start time read after it: if they agree, the descriptor names that process for ever, whatever
happens to its pid (pidfd_open(2)). Where there is no pidfd, the start time is read right before each signal.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Mapping

from hangtop.records.nodes import node_of
from hangtop.records.plan import Target
from hangtop.system.processes.table import Identity, ProcessTable, Stat
from hangtop.system.processes.tree import ancestors


def line_of(identity: Identity, stats: Mapping[int, Stat]) -> Stat | None:
    """The line of this very process, dead or alive."""
    stat = stats.get(identity.pid)
    return stat if stat is not None and stat.identity == identity else None


def living(identity: Identity, table: ProcessTable) -> Stat | None:
    """The line of this very process in the table while it lives; a zombie does not."""
    stat = line_of(identity, table.stats)
    return stat if stat is not None and stat.state not in "ZX" else None


def own_processes(table: ProcessTable) -> frozenset[int]:
    """The pids of hangtop itself and of what it runs in: never signalled."""
    return frozenset({os.getpid(), *ancestors(table.stats, os.getpid())})


class VerifiedProcess:
    """One target, held by a pidfd. Raises `LookupError` with the reason when it is gone, not the same, or not ours."""

    def __init__(self, target: Target, table: ProcessTable, own: frozenset[int], uid: int) -> None:
        self.target = target
        self._table = table
        self._fd: int | None = None
        if node_of(target.pid):
            raise LookupError("it is a process of another node")
        if target.pid <= 1 or target.pid in own:
            raise LookupError("it is hangtop itself, or what hangtop runs in")
        with contextlib.suppress(AttributeError, OSError):
            self._fd = os.pidfd_open(target.pid)
        try:
            self._check(uid)
        except LookupError:
            self.close()
            raise

    def send(self, number: signal.Signals) -> None:
        """Raises `LookupError` when it is gone, `PermissionError` when the system refuses."""
        try:
            if self._fd is not None:
                signal.pidfd_send_signal(self._fd, number)
                return
            self._check(os.geteuid())
            os.kill(self.target.pid, number)
        except ProcessLookupError as error:
            raise LookupError("it has ended") from error

    def gone(self) -> bool:
        """Whether it has ended; a zombie has."""
        if self._fd is not None:
            ended = select.poll()  # not select(): a plan may have more targets than that has descriptors
            ended.register(self._fd, select.POLLIN)
            return bool(ended.poll(0))
        self._table.refresh((self.target.pid,))
        return living(Identity(self.target.pid, self.target.start_ticks), self._table) is None

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _check(self, uid: int) -> None:
        self._table.refresh((self.target.pid,))  # a table keeps old lines of pids that are not refreshed
        stat = self._table.stats.get(self.target.pid)
        if stat is None:
            raise LookupError("it has ended")
        if stat.start_ticks != self.target.start_ticks:
            raise LookupError("its pid belongs to another process now")
        if stat.state in "ZX":
            raise LookupError("it is dead already and waits for its parent")
        if self._table.owner(self.target.pid) != uid:
            raise LookupError("it belongs to another user")
