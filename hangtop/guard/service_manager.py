"""Tells systemd that the guard watches and goes on looking: `READY=1` and `WATCHDOG=1` of sd_notify(3)."""

from __future__ import annotations

import contextlib
import os
import socket

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.verdict import Verdict

ADDRESS = "NOTIFY_SOCKET"
OF_THE_SERVICE = (ADDRESS, "WATCHDOG_USEC", "WATCHDOG_PID")
"""They are the guard's alone: a run that it starts is no part of its service."""


class ServiceManager:
    """A looker: the guard is ready with its first look. Without a service manager nothing is told."""

    def __init__(self) -> None:
        told = {name: os.environ.pop(name, "") for name in OF_THE_SERVICE}
        self._address = told[ADDRESS].replace("@", "\0", 1) if told[ADDRESS].startswith("@") else told[ADDRESS]
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if self._address else None

    def look(self, _: Snapshot, __: Verdict) -> None:
        """The guard has looked."""
        if self._socket is not None:
            with contextlib.suppress(OSError):  # what is not heard is the sign
                self._socket.sendto(b"READY=1\nWATCHDOG=1", socket.MSG_DONTWAIT, self._address)
