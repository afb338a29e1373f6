"""Where dead runs leave things behind, and what has the name of a leftover there. `LeftoverJudge` decides whether it is one."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from hangtop.common.clean_words import clean_words
from hangtop.probe.ray.local.address_file import LATEST, NAME
from hangtop.probe.ray.local.session_files import SESSION_NAME
from hangtop.records.plan import LeftAlone

SEGMENT = re.compile(r"nccl-|torch_(?P<maker>\d+)_|psm_|sem\.|plasma")
"""NCCL's, PyTorch's, Python's `SharedMemory` and semaphores, Ray's object store."""
SESSION = re.compile(SESSION_NAME)
TRASH = ".hangtop-clean-"
"""Name of the folder into which a leftover is moved before it is deleted. One that was broken off is a leftover itself."""
SHARED_MEMORY, SEMAPHORE, LOCK, UNFINISHED = "shared memory", "semaphore", "dataset lock", "unfinished"
RAY_SESSION, RAY_SPILL, RAY_ADDRESS, RAY_LINK = "Ray session", "Ray spill", "Ray address", "Ray link"
LOCK_DEPTH = 4


class LeftoverPlaces(Struct, frozen=True):
    """Folders to search, as real paths. `ray`: temporary folders of Ray."""

    shm: tuple[str, ...] = ()
    ray: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.shm, *self.ray, *self.datasets)


class Candidate(Struct, frozen=True):
    """Something with the name of a leftover. `kind`: one of the words above."""

    path: str
    kind: str


def usual_places(environ: dict[str, str] | None = None, ray: Iterable[str] = ()) -> LeftoverPlaces:
    """The places of this user, by environment or by default. `ray`: more temporary folders of Ray.

    Ray itself takes RAY_TMPDIR, else TMPDIR, else /tmp (ray/_common/utils.py, `get_default_system_temp_dir`).
    """
    given = dict(os.environ) if environ is None else environ
    home = given.get("HF_HOME", os.path.join(given.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "huggingface"))
    datasets = given.get("HF_DATASETS_CACHE", os.path.join(home, "datasets"))
    temporary = (given.get("RAY_TMPDIR", ""), given.get("TMPDIR", ""), "/tmp")
    return LeftoverPlaces(
        shm=_folders("/dev/shm"),
        ray=_folders(*(os.path.join(folder, "ray") for folder in temporary if folder), *ray),
        datasets=_folders(datasets),
    )


def candidates(places: LeftoverPlaces) -> Iterator[Candidate]:
    """Everything in these places with the name of a leftover. No links, except Ray's `session_latest` when it leads nowhere."""
    for folder in places.shm:
        for entry in _entries(folder):
            if SEGMENT.match(entry.name) and entry.is_file(follow_symlinks=False):
                yield Candidate(entry.path, SEMAPHORE if entry.name.startswith("sem.") else SHARED_MEMORY)
    for folder in places.ray:
        for entry in _entries(folder):
            if SESSION.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                yield Candidate(entry.path, RAY_SESSION)
            elif entry.name == NAME and entry.is_file(follow_symlinks=False):
                yield Candidate(entry.path, RAY_ADDRESS)
            elif entry.name == LATEST and entry.is_symlink() and not os.path.exists(entry.path):
                yield Candidate(entry.path, RAY_LINK)
    for folder in places.all:
        for entry in _entries(folder):
            if entry.name.startswith(TRASH) and entry.is_dir(follow_symlinks=False):
                yield Candidate(entry.path, UNFINISHED)
    for folder in places.datasets:
        for path in _locks(folder, LOCK_DEPTH):
            yield Candidate(path, LOCK)


def never_removed(places: LeftoverPlaces, environ: Mapping[str, str]) -> Iterator[LeftAlone]:
    """What guides tell people to delete, as far as it is here, and why hangtop leaves it."""
    for folder in places.datasets:
        if any(entry.is_dir(follow_symlinks=False) for entry in _entries(folder)):
            yield LeftAlone(clean_words(folder), "a cache is never removed; for one broken data set delete its own folder in it")
    caches = environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    for path in sorted((*glob.glob("/tmp/nccl*"), *glob.glob(os.path.join(glob.escape(caches), "nccl*")))):
        yield LeftAlone(clean_words(path), "NCCL keeps nothing there that a new run reads: what it leaves lies in /dev/shm")


def sessions_beside(path: str) -> list[str]:
    """The session folders beside this path."""
    return [entry.path for entry in _entries(os.path.dirname(path)) if SESSION.fullmatch(entry.name)]


def _locks(folder: str, depth: int) -> Iterator[str]:
    for entry in _entries(folder):
        if entry.is_file(follow_symlinks=False) and entry.name.endswith(".lock"):
            yield entry.path
        elif depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from _locks(entry.path, depth - 1)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Its entries by name; none when it is not there, or not ours to read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _folders(*paths: str) -> tuple[str, ...]:
    """The paths that are folders and no links, as real paths, each once."""
    real = [os.path.realpath(path) for path in paths if os.path.isdir(path) and not os.path.islink(path)]
    return tuple(dict.fromkeys(real))
