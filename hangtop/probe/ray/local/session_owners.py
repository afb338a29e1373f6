"""The owner of a Ray session, and whether a process may speak for it.

Any command line can name any session, since their names are public. So the owner of the session's folder owns the session, and
processes of other users count for nothing: an address that they name would get the owner's token.
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
        self._guard: Guard[str, os.stat_result] = Guard()
        self._known: dict[str, int] = {}

    def of(self, daemons: Iterable[Daemon]) -> Mapping[str, int | None]:
        """User ids by session folder. If the folder cannot be read, as in another container, the first GCS or raylet decides,
        else the first daemon."""
        speaking: dict[str, list[Daemon]] = {}
        for daemon in daemons:
            if daemon.folder is not None and daemon.uid is not None:
                speaking.setdefault(daemon.folder, []).append(daemon)
        unknown = speaking.keys() - self._known.keys()
        found = self._guard.known({folder: partial(os.lstat, folder) for folder in unknown})
        self._known |= {folder: status.st_uid for folder, status in found.items()}
        return {folder: self._owner(folder, theirs) for folder, theirs in speaking.items()}

    def _owner(self, folder: str, daemons: Iterable[Daemon]) -> int | None:
        first = min(
            daemons, key=lambda daemon: (daemon.uid != self._known.get(folder), daemon.kind not in LEADING, daemon.started_at)
        )
        return first.uid


def user_of(table: ProcessTable, pid: int) -> int | None:
    """The user of this process; `None` when it is gone, or runs a set-user-id program, whose arguments another user chose."""
    if (users := status_of(pid).get("Uid")) is None:  # gone, or no Linux
        return table.owner(pid)
    real, effective = users.split()[:2]
    if real != effective or _sets_user(pid):
        return None
    return int(effective)


def _sets_user(pid: int) -> bool:
    """A set-user-id program may have changed all its ids, as `sudo` does while it asks for a password."""
    try:
        return bool(os.stat(f"/proc/{pid}/exe").st_mode & modes.S_ISUID)
    except OSError:  # another user's
        return False
