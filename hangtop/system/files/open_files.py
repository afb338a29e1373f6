"""The open files of all processes of this machine, kept up to date with few reads."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from msgspec import Struct

from hangtop.system.files.file_writers import TERMINAL_ENDS
from hangtop.system.guard import Guard
from hangtop.system.processes.table import Identity, OpenFile, ProcessTable, Stat

YOUNG_S = 10.0
"""Up to this age a process is read each time: a program may open its log some time after it started."""
ROUNDS = 6
"""Every process is read again within so many refreshes."""


LOG_ENDINGS = (".log", ".out", ".err", ".txt", ".stdout", ".stderr")


class HeldFiles(Struct, frozen=True):
    """What one process had open when last read: stdin, and files and pipes that it writes. `denied`: we may not read it."""

    files: tuple[OpenFile, ...]
    denied: bool


class OpenFiles:
    """The first refresh reads all processes; later ones the new, the watched and a share of the rest."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._known: dict[Identity, HeldFiles] = {}
        self._refreshes = 0
        self._guard: Guard[Identity, tuple[OpenFile, ...]] = Guard()

    def refresh(self, now: float, watched: Collection[int] = ()) -> None:
        """Read what is due. `now`: unix time."""
        alive = {stat.identity: stat for stat in self._table.stats.values() if not stat.kernel and stat.state not in "ZX"}
        due = [identity for identity, stat in alive.items() if self._is_due(stat, now, watched)]
        self._refreshes += 1
        answers = self._guard.ask({identity: partial(self._table.open_files, identity.pid) for identity in due})
        self._known = {identity: known for identity, known in self._known.items() if identity in alive}
        for identity, answer in answers.items():
            denied = isinstance(answer, PermissionError)
            files = () if isinstance(answer, OSError) else tuple(file for file in answer if _is_kept(file))
            self._known[identity] = HeldFiles(files, denied)

    def by_pid(self) -> dict[int, tuple[OpenFile, ...]]:
        return {identity.pid: known.files for identity, known in self._known.items()}

    def denied(self) -> tuple[int, ...]:
        """The pids whose files we may not read."""
        return tuple(identity.pid for identity, known in self._known.items() if known.denied)

    def _is_due(self, stat: Stat, now: float, watched: Collection[int]) -> bool:
        return (
            stat.identity not in self._known
            or stat.pid in watched
            or stat.pid % ROUNDS == self._refreshes % ROUNDS
            or now - self._table.started_at(stat.start_ticks) < YOUNG_S
        )


def is_log(file: OpenFile) -> bool:
    """Whether a process uses this file like a log that it writes: as standard output or error, or by its name."""
    named = file.fd in (1, 2) or file.target.endswith(LOG_ENDINGS)
    return file.writable and not file.deleted and file.target.startswith("/") and named


def _is_kept(file: OpenFile) -> bool:
    """Stdin, what is written to, GPUs and terminals. Most files are none of these."""
    if file.fd == 0 or file.target.startswith("/dev/nvidia") or file.target in TERMINAL_ENDS:
        return True
    return file.writable and file.target.startswith(("/", "pipe:")) and not file.target.startswith("/dev/")
