"""One process that may get signals: its start time is checked, and a pidfd holds it. The rules are those of
`hangtop.actions.execute.signals`: a pidfd is opened first and the start time read after it (pidfd_open(2)); where there is none,
the start time is read right before each signal."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress

from hangtop.probe.nodes.node_side.proc import fields, read, stat_of


class NotSignalled(Exception):
    """Why not, in one line."""


class HeldProcess:
    """Raises `NotSignalled` when it is gone, not the same, not of this user, or of `own`: this program and what it runs in."""

    def __init__(self, pid: int, start_ticks: int, own: frozenset[int]) -> None:
        self.pid, self.start_ticks = pid, start_ticks
        self.fd = -1
        if pid <= 1 or pid in own:
            raise NotSignalled("it is what hangtop runs in there")
        with suppress(AttributeError, OSError):  # an older kernel, or gone: the check says which
            self.fd = os.pidfd_open(pid)
        try:
            self.check()
        except NotSignalled:
            self.close()
            raise

    def check(self) -> None:
        known = stat_of(self.pid)
        if known is None:
            raise NotSignalled("it has ended")
        if known[0][6] != self.start_ticks:
            raise NotSignalled("its pid belongs to another process now")
        if known[1][0] in "ZX":
            raise NotSignalled("it is dead already and waits for its parent")
        if fields(read(f"/proc/{self.pid}/status")).get("Uid", "").split()[1:2] != [str(os.geteuid())]:
            raise NotSignalled("it belongs to another user")

    def send(self, number: int) -> None:
        """Raises `NotSignalled`."""
        self.check()
        try:
            if self.fd >= 0 and hasattr(signal, "pidfd_send_signal"):
                signal.pidfd_send_signal(self.fd, number)
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            raise NotSignalled("it has ended") from None
        except PermissionError as error:
            raise NotSignalled(error.strerror or "it is refused") from None

    @property
    def lives(self) -> bool:
        """A zombie does not."""
        if self.fd >= 0:
            ended = select.poll()
            ended.register(self.fd, select.POLLIN)
            return not ended.poll(0)
        return is_alive(self.pid, self.start_ticks)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def is_alive(pid: int, start_ticks: int) -> bool:
    """Whether this very process lives."""
    known = stat_of(pid)
    return known is not None and known[0][6] == start_ticks and known[1][0] not in "ZX"
