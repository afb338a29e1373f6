"""What is left of one session when its processes have ended: its folder, what it spilled, shared memory that only it maps."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec.structs import replace

from hangtop.records.plan import Removal, Spared
from hangtop.sources.inuse import Holds, InUse, look
from hangtop.sources.leftovers import SEGMENT, Candidate, Judge
from hangtop.sources.proc.guard import Guard
from hangtop.sources.proc.table import ProcessTable
from hangtop.sources.raycluster.daemons import Daemon
from hangtop.sources.raycluster.options import spill_folder

SHARED = "/dev/shm"
ANY_AGE = float("-inf")
SESSION, SPILL = "Ray session", "Ray spill"


def remains(
    daemons: Iterable[Daemon], folder: str | None, members: frozenset[int], table: ProcessTable, now: float
) -> tuple[tuple[Removal, ...], tuple[Spared, ...]]:
    """(what can go, what stays and why), as if the members had ended. They still write, so times may change."""
    places = tuple(_places(daemons, folder))
    roots = {os.path.dirname(candidate.path) for candidate in places} | {SHARED}
    guard: Guard[int, Holds] = Guard()
    in_use = look(table, roots, os.geteuid(), guard)
    held = {key for key, pid in in_use.mapped.items() if pid in members}
    judge = Judge(_without(in_use, members, folder or ""), now, ANY_AGE, os.geteuid())
    judged = [judge.judge(candidate) for candidate in chain(places, _segments(held))]
    return (
        tuple(replace(one, changing=True) for one in judged if isinstance(one, Removal)),
        tuple(one for one in judged if isinstance(one, Spared)),
    )


def _places(daemons: Iterable[Daemon], folder: str | None) -> Iterator[Candidate]:
    if folder:
        yield Candidate(os.path.realpath(folder), SESSION)
    spills = {spill_folder(d.origin.words) for d in daemons if d.kind == "raylet" and d.origin is not None}
    for spill in sorted(filter(None, spills)):
        yield Candidate(os.path.realpath(spill), SPILL)


def _segments(held: Iterable[tuple[int, int]]) -> Iterator[Candidate]:
    """Shared memory with a name that the members map: the object store has none, it is freed when the raylet ends."""
    wanted = set(held)
    try:
        entries = sorted(os.scandir(SHARED), key=lambda entry: entry.name)
    except OSError:  # no shared memory here
        return
    for entry in entries:
        if SEGMENT.match(entry.name) and not entry.name.startswith("sem."):
            found = entry.stat(follow_symlinks=False)
            if (found.st_dev, found.st_ino) in wanted:
                yield Candidate(entry.path, "shared memory")


def _without(in_use: InUse, members: frozenset[int], folder: str) -> InUse:
    """The same as if the members had ended. Sockets in the session's folder are theirs."""
    below = os.path.realpath(folder) + "/" if folder else "\0"
    return InUse(
        paths={
            path: pid for path, pid in in_use.paths.items() if pid not in members and not (pid == 0 and path.startswith(below))
        },
        mapped={key: pid for key, pid in in_use.mapped.items() if pid not in members},
        commands={pid: line for pid, line in in_use.commands.items() if pid not in members},
        unseen=in_use.unseen,
        others_unseen=in_use.others_unseen,
        alive=in_use.alive - members,
        trackers=(),
    )
