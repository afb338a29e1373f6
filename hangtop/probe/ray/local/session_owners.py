"""Whose a Ray session is, and which processes may speak for it.

A command line names whatever folder it likes, and the names of all sessions are public. So a session is its folder's owner's, by
the kernel, and what another user's process says of it counts for nothing: its address would get that owner's token.
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Iterable, Mapping
from functools import partial

from hangtop.probe.ray.local.daemons import Daemon
from hangtop.system.guard import Guard
from hangtop.system.processes.proc_files import status_of
from hangtop.system.processes.table import ProcessTable

LEADING = ("gcs_server", "raylet")


class SessionOwners:
    """The owners of sessions, by folder. For one calling thread."""

    def __init__(self) -> None:
        self._guard: Guard[str, int] = Guard()
        self._known: dict[str, int] = {}

    def of(self, daemons: Iterable[Daemon]) -> Mapping[str, int]:
        """User ids by session folder. Where the folder cannot be seen, as in another container, the GCS or raylet that was there
        first tells, else the first daemon."""
        speaking: dict[str, list[Daemon]] = {}
        for daemon in daemons:
            if daemon.folder is not None and daemon.uid is not None:
                speaking.setdefault(daemon.folder, []).append(daemon)
        unknown = speaking.keys() - self._known.keys()
        told = self._guard.ask({folder: partial(_owner_of, folder) for folder in unknown})
        self._known |= {folder: uid for folder, uid in told.items() if isinstance(uid, int)}
        return {folder: self._owner(folder, theirs) for folder, theirs in speaking.items()}

    def _owner(self, folder: str, daemons: list[Daemon]) -> int:
        users = {daemon.uid for daemon in daemons}
        if (owner := self._known.get(folder)) in users and owner is not None:
            return owner
        first = min(daemons, key=lambda daemon: (daemon.kind not in LEADING, daemon.started_at))
        assert first.uid is not None
        return first.uid


def user_of(table: ProcessTable, pid: int) -> int | None:
    """The user that this process acts for; `None` when it is gone, or runs a program that acts for another one (set-user-id): its
    arguments are whatever the person who called it liked."""
    if (users := status_of(pid).get("Uid")) is None:  # gone, or no Linux
        return table.owner(pid)
    real, effective = users.split()[:2]
    if real != effective or _sets_user(pid):
        return None
    return int(effective)


def _sets_user(pid: int) -> bool:
    """Such a program may have made itself its owner's altogether, as `sudo` does while it asks for a password."""
    try:
        return bool(os.stat(f"/proc/{pid}/exe").st_mode & modes.S_ISUID)
    except OSError:  # another user's: then it is not taken for ours either
        return False


def _owner_of(folder: str) -> int:
    return os.lstat(folder).st_uid
