"""What one session leaves behind when its processes have ended: its folder, spilled objects, shared memory that only it maps, and
what leads the next program to it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import chain

from msgspec.structs import replace

from hangtop.probe.leftovers.leftover_judge import LeftoverJudge
from hangtop.probe.leftovers.leftover_places import (
    RAY_ADDRESS,
    RAY_LINK,
    RAY_SESSION,
    RAY_SPILL,
    SEGMENT,
    SHARED_MEMORY,
    Candidate,
)
from hangtop.probe.leftovers.open_handles import OpenHandles, open_handles
from hangtop.probe.ray.local.address_file import LATEST, NAME, read_address
from hangtop.probe.ray.local.daemons import Daemon
from hangtop.probe.ray.local.start_options import spill_folder
from hangtop.records.plan import LeftAlone, Removal
from hangtop.system.processes.table import ProcessTable

SHARED = "/dev/shm"
ANY_AGE = float("-inf")


def left_of_session(
    daemons: Collection[Daemon], folder: str | None, members: frozenset[int], table: ProcessTable, now: float
) -> tuple[tuple[Removal, ...], tuple[LeftAlone, ...]]:
    """(what can go, what stays and why), as if the members had ended. They still write, so file times may change."""
    real = os.path.realpath(folder) if folder else ""
    places = tuple(_places(daemons, real))
    roots = {os.path.dirname(candidate.path) for candidate in places} | {SHARED}
    in_use = open_handles(table, roots)
    going = [candidate.path for candidate in places]
    judge = LeftoverJudge(in_use.without(members, real), now, ANY_AGE, going=going, sure=not members)
    judged = [judge.judge(candidate) for candidate in chain(places, _segments(in_use, members))]
    return (
        tuple(replace(each, changing=True) for each in judged if isinstance(each, Removal)),
        tuple(each for each in judged if isinstance(each, LeftAlone)),
    )


def _places(daemons: Iterable[Daemon], folder: str) -> Iterator[Candidate]:
    """The folder comes before the link that leads to it."""
    if folder:
        yield Candidate(folder, RAY_SESSION)
        yield from _pointers(daemons, folder)
    spills = {spill_folder(d.start.words) for d in daemons if d.kind == "raylet"}
    for spill in sorted(filter(None, spills)):
        yield Candidate(os.path.realpath(spill), RAY_SPILL)


def _pointers(daemons: Iterable[Daemon], folder: str) -> Iterator[Candidate]:
    """What leads to this session: the link of the latest one, and the file with the address that `ray.init()` joins."""
    beside = os.path.dirname(folder)
    link, file = os.path.join(beside, LATEST), os.path.join(beside, NAME)
    if os.path.islink(link) and os.path.realpath(link) == folder:
        yield Candidate(link, RAY_LINK)
    try:
        address = read_address(file)
    except OSError:  # there is none, or it is not for us
        return
    if address in {daemon.gcs_address for daemon in daemons}:
        yield Candidate(file, RAY_ADDRESS)


def _segments(in_use: OpenHandles, members: frozenset[int]) -> Iterator[Candidate]:
    """Named shared memory that the members map. The object store has no name: it is freed when the raylet ends."""
    theirs = in_use.held_by(members)
    try:
        entries = sorted(os.scandir(SHARED), key=lambda entry: entry.name)
    except OSError:  # no shared memory here
        return
    for entry in entries:
        if SEGMENT.match(entry.name) and not entry.name.startswith("sem."):
            with suppress(FileNotFoundError):  # gone meanwhile
                found = entry.stat(follow_symlinks=False)
                if (found.st_dev, found.st_ino) in theirs:
                    yield Candidate(entry.path, SHARED_MEMORY)
