"""What dead runs left behind: shared memory, Ray session folders, locks of the dataset cache. On a question only.

Looked for only in the places that `Places` names, only what belongs to our own user. Never a cache that costs hours to fill:
model and compile caches are not looked at.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat as modes
import sys
from collections.abc import Iterable, Iterator

from msgspec import Struct

from hangtop import text
from hangtop.records.ask import Ask, LeftoversAsk
from hangtop.records.leftovers import LeftoversReading
from hangtop.records.plan import Removal, Spared
from hangtop.records.reading import Value
from hangtop.sources.filesystem import file_system_of
from hangtop.sources.inuse import Holds, InUse, hidden_neighbours, look
from hangtop.sources.proc.guard import Guard
from hangtop.sources.proc.table import ProcessTable
from hangtop.sources.proc.words import clean
from hangtop.sources.processes import open_table
from hangtop.spec import WatchSpec
from hangtop.text import some

SEGMENT = re.compile(r"nccl-|torch_(?P<maker>\d+)_|psm_|sem\.|plasma")
"""NCCL's, PyTorch's, Python's `SharedMemory` and semaphores, Ray's object store."""
TRACKED = re.compile(r"psm_|sem\.")
SESSION = re.compile(r"session_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\d+_\d+")
TRASH = ".hangtop-clean-"
"""Where a removal stands between its place and its end; one that was broken off is a leftover too."""
LOCK_DEPTH, MOST_FILES, MOST_KEPT = 4, 300_000, 64


class Places(Struct, frozen=True):
    """Folders in which leftovers are looked for, as real paths."""

    shm: tuple[str, ...] = ()
    ray: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.shm, *self.ray, *self.datasets)


class Candidate(Struct, frozen=True):
    """Something that bears the name of a leftover."""

    path: str
    kind: str


def usual_places(environ: dict[str, str] | None = None) -> Places:
    """Those of this user on this machine, by environment or by default."""
    given = dict(os.environ) if environ is None else environ
    home = given.get("HF_HOME", os.path.join(given.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "huggingface"))
    datasets = given.get("HF_DATASETS_CACHE", os.path.join(home, "datasets"))
    return Places(
        shm=_folders("/dev/shm"),
        ray=_folders(os.path.join(given.get("RAY_TMPDIR", "/tmp"), "ray"), "/tmp/ray"),
        datasets=_folders(datasets),
    )


def candidates(places: Places) -> Iterator[Candidate]:
    """Everything in these places that has such a name; links are none."""
    for folder in places.shm:
        for entry in _entries(folder):
            if SEGMENT.match(entry.name) and entry.is_file(follow_symlinks=False):
                yield Candidate(entry.path, "semaphore" if entry.name.startswith("sem.") else "shared memory")
    for folder in places.ray:
        for entry in _entries(folder):
            if SESSION.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                yield Candidate(entry.path, "Ray session")
    for folder in places.all:
        for entry in _entries(folder):
            if entry.name.startswith(TRASH) and entry.is_dir(follow_symlinks=False):
                yield Candidate(entry.path, "unfinished")
    for folder in places.datasets:
        for path in _locks(folder, LOCK_DEPTH):
            yield Candidate(path, "dataset lock")


class Judge:
    """Whether a candidate is a leftover, by what is known at one moment. `now` and times are unix; `older_s`: least age."""

    def __init__(self, in_use: InUse, now: float, older_s: float, uid: int) -> None:
        self._in_use, self._now, self._older_s, self._uid = in_use, now, older_s, uid

    def judge(self, candidate: Candidate) -> Removal | Spared | None:
        """A removal, or why it stays; `None` when it is gone or somebody else's."""
        if not candidate.path.isprintable():
            return Spared(clean(candidate.path), "its name cannot be shown")
        try:
            found = os.lstat(candidate.path)
            if found.st_uid != self._uid:
                return None
            removal = _measured(candidate, found)
        except FileNotFoundError:
            return None
        except OSError as error:
            return Spared(clean(candidate.path), error.strerror or "cannot be read")
        why = removal if isinstance(removal, str) else self._why_not(candidate, removal, found)
        return Spared(clean(candidate.path), why) if why is not None else removal if isinstance(removal, Removal) else None

    def _why_not(self, candidate: Candidate, removal: Removal, found: os.stat_result) -> str | None:
        if self._in_use.unseen:
            return f"pid {self._in_use.unseen[0]} of ours cannot be looked into: it may hold it"
        holder = self._in_use.holder(removal.path, removal.device, removal.inode)
        if holder is not None:
            return f"in use by pid {holder}" if holder else "a socket in it is open"
        name = os.path.basename(candidate.path)
        if candidate.kind == "Ray session" and (user := self._in_use.named_by(name)) is not None:
            return f"in use by pid {user}"
        if (age := self._now - removal.newest_at) < self._older_s:
            return f"used {text.duration(age)} ago"
        if candidate.kind in ("shared memory", "semaphore"):
            return self._why_not_segment(name, removal, found)
        return _lock_owner(candidate.path) if candidate.kind == "dataset lock" else None

    def _why_not_segment(self, name: str, removal: Removal, found: os.stat_result) -> str | None:
        if hidden := hidden_neighbours():
            return hidden
        match = SEGMENT.match(name)
        if match is not None and match["maker"] and int(match["maker"]) in self._in_use.alive:
            return f"its maker, pid {match['maker']}, lives"
        if TRACKED.match(name) and any(started < removal.newest_at for started in self._in_use.trackers):
            return "a live Python program was there when it was made, and may still know its name"
        if found.st_mode & 0o077 and self._in_use.others_unseen:
            return "others may use it, and their processes cannot be looked into"
        return None


class LeftoverSource:
    """Answers `LeftoversAsk`; says nothing by itself."""

    name = "leftovers"
    interval_s = 5.0
    deadline_s = 60.0

    def __init__(self, spec: WatchSpec, places: Places | None = None, table: ProcessTable | None = None) -> None:
        del spec  # leftovers belong to no run
        self._places = places
        self._table = table or open_table()
        self._guard: Guard[int, Holds] = Guard()

    def read(self, now: float) -> Iterable[Value]:
        return ()

    def answer(self, ask: Ask, now: float) -> Iterable[Value]:
        if not isinstance(ask, LeftoversAsk):
            return
        if sys.platform != "linux":
            yield LeftoversReading(ask.ask, problem="what is in use can be told on Linux only, so nothing is cleaned here")
            return
        places = self._places or usual_places()
        judge = Judge(look(self._table, places.all, os.geteuid(), self._guard), now, ask.older_s, os.geteuid())
        judged = [judge.judge(candidate) for candidate in candidates(places)]
        yield LeftoversReading(
            ask.ask,
            found=tuple(one for one in judged if isinstance(one, Removal)),
            kept=tuple(one for one in judged if isinstance(one, Spared))[:MOST_KEPT],
            writing={pid: path for pid in ask.pids if (path := self._writes(pid, now - ask.older_s)) is not None},
        )

    def _writes(self, pid: int, since: float) -> str | None:
        """A plain file that this process has open for writing and that was written since."""
        try:
            held = self._table.open_files(pid)
        except OSError:  # gone: then it writes nothing
            return None
        for file in held:
            if file.writable and not file.deleted and file.target.startswith("/") and not file.target.startswith("/dev/"):
                try:
                    found = os.stat(file.target)
                except OSError:
                    continue
                if modes.S_ISREG(found.st_mode) and found.st_mtime > since:
                    return clean(file.target)
        return None


def _measured(candidate: Candidate, found: os.stat_result) -> Removal | str:
    """What would be removed; or why it must not be, whoever uses it."""
    files, allocated, newest = 1, found.st_blocks * 512, max(found.st_mtime, found.st_ctime)
    folder = modes.S_ISDIR(found.st_mode)
    if not folder and (not modes.S_ISREG(found.st_mode) or found.st_nlink != 1):
        return "it is no plain file, or has a second name"
    for entry in _below(candidate.path) if folder else ():
        inside = entry.stat(follow_symlinks=False)
        if inside.st_dev != found.st_dev:
            return "another file system is mounted in it"
        if inside.st_uid != found.st_uid:
            return "it holds files of another user"
        files, allocated, newest = files + 1, allocated + inside.st_blocks * 512, max(newest, inside.st_mtime)
        if files > MOST_FILES:
            return f"it holds more than {some(MOST_FILES, 'file')}: look at it yourself"
    return Removal(
        path=candidate.path,
        kind=candidate.kind,
        device=found.st_dev,
        inode=found.st_ino,
        uid=found.st_uid,
        modified_ns=found.st_mtime_ns,
        newest_at=newest,
        allocated_bytes=allocated,
        files=files - 1 if folder else 1,
        folder=folder,
    )


def _below(folder: str) -> Iterator[os.DirEntry[str]]:
    """All entries below a folder, links not followed."""
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def _lock_owner(path: str) -> str | None:
    """Whether somebody holds this lock: `flock` is free when its owner is dead. On a network file system nobody can tell."""
    if network := file_system_of(path).network:
        return f"it lies on {network}: an owner on another machine cannot be seen"
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "it is locked"
    finally:
        os.close(fd)
    return None


def _locks(folder: str, depth: int) -> Iterator[str]:
    for entry in _entries(folder):
        if entry.is_file(follow_symlinks=False) and entry.name.endswith(".lock"):
            yield entry.path
        elif depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from _locks(entry.path, depth - 1)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Sorted by name; none when it is not there, or not ours to read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _folders(*paths: str) -> tuple[str, ...]:
    """Those that are folders and no links, as real paths, each once."""
    real = [os.path.realpath(path) for path in paths if os.path.isdir(path) and not os.path.islink(path)]
    return tuple(dict.fromkeys(real))
