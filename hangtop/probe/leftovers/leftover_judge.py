"""Whether a thing that bears the name of a leftover is one. The one judgement: the leftovers source asks it for the plan, the
cleanup of a Ray session for what its processes leave, and the deletion once more for each thing that goes."""

from __future__ import annotations

import fcntl
import os
import stat as modes
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from hangtop.common import text
from hangtop.common.clean_words import clean_words
from hangtop.common.text import some
from hangtop.probe.leftovers.leftover_places import (
    LOCK,
    RAY_ADDRESS,
    RAY_LINK,
    RAY_SESSION,
    SEGMENT,
    SEMAPHORE,
    SHARED_MEMORY,
    Candidate,
    sessions_beside,
)
from hangtop.probe.leftovers.open_handles import OpenHandles, hidden_neighbours, is_heard, is_open
from hangtop.probe.ray.local.address_file import why_current
from hangtop.records.plan import LeftAlone, Removal
from hangtop.system.files.inode import Inode
from hangtop.system.files.network_filesystems import file_system_of

TRACKED = ("psm_", "sem.")
MOST_FILES = 300_000
UNSEEN_HOLDER = "a process that cannot be seen from here has it open"


class FileTree(Struct, frozen=True):
    """A file, or a folder with all below it. `names`: last part of each path, by inode. `files`: paths of plain files, by inode.
    `sockets`: their paths."""

    removal: Removal
    names: Mapping[Inode, str]
    files: Mapping[Inode, str]
    sockets: tuple[str, ...] = ()


class LeftoverJudge:
    """Judges candidates by what is in use at `now` (unix time). `older_s`: the least age of a leftover.

    `going`: paths that go before the candidate. `sure`: also ask the kernel whether any process has it open, and the address of a
    cluster whether it answers. A plan whose processes still live leaves that to the moment when they have ended.
    """

    def __init__(self, in_use: OpenHandles, now: float, older_s: float, *, going: Iterable[str] = (), sure: bool = True) -> None:
        self._in_use, self._now, self._older_s = in_use, now, older_s
        self._going, self._sure = frozenset(going), sure

    def judge(self, candidate: Candidate) -> Removal | LeftAlone | None:
        """What would be removed, or why it stays; `None` when it is gone or another user's."""
        if not candidate.path.isprintable():
            return LeftAlone(clean_words(candidate.path), "its name cannot be shown")
        try:
            found = os.lstat(candidate.path)
            if found.st_uid != os.geteuid():
                return None
            tree = _measured(candidate, found)
            why = tree if isinstance(tree, str) else self._why_not(candidate, tree, found)
        except FileNotFoundError:
            return None
        except OSError as error:
            return LeftAlone(clean_words(candidate.path), error.strerror or "cannot be read")
        if why is not None:
            return LeftAlone(clean_words(candidate.path), why)
        return tree.removal if isinstance(tree, FileTree) else None

    def taken(self, path: str, before: str, kind: str) -> str | None:
        """Why a thing that was moved here from `before` must go back: a process uses it. Raises `OSError`."""
        tree = _measured(Candidate(path, kind), os.lstat(path))
        if isinstance(tree, str):
            return tree
        if (why := self._why_used(Candidate(path, kind), tree)) is not None:
            return why
        taker = self._in_use.holder(before, {})
        return None if taker is None else f"in use by pid {taker}" if taker else "a socket in it is open"

    def _why_not(self, candidate: Candidate, tree: FileTree, found: os.stat_result) -> str | None:
        if (why := self._why_used(candidate, tree)) is not None:
            return why
        if (age := self._now - tree.removal.newest_at) < self._older_s:
            return f"used {text.duration(age)} ago"
        if candidate.kind in (SHARED_MEMORY, SEMAPHORE):
            return self._why_not_segment(os.path.basename(candidate.path), tree.removal, found)
        return _lock_owner(candidate.path) if candidate.kind == LOCK else None

    def _why_used(self, candidate: Candidate, tree: FileTree) -> str | None:
        """Why it stays: a process holds it, names it, or needs it."""
        for pid, name in self._in_use.unseen.items():
            return f"pid {pid} ({clean_words(name)}) of ours cannot be looked into: it may hold it"
        holder = self._in_use.holder(candidate.path, tree.names)
        if holder is not None:
            return f"in use by pid {holder}" if holder else "a socket in it is open"
        if candidate.kind == RAY_SESSION and (user := self._in_use.named_by(os.path.basename(candidate.path))) is not None:
            return f"in use by pid {user}"
        if network := file_system_of(candidate.path).network:
            return f"it lies on {network}: who uses it on another machine cannot be seen"
        if self._sure and any(inode not in self._in_use.watched and is_open(path) for inode, path in tree.files.items()):
            return UNSEEN_HOLDER
        if self._sure and any(map(is_heard, tree.sockets)):
            return "a process that cannot be seen from here listens at a socket in it"
        return self._why_needed(candidate) if candidate.kind in (RAY_ADDRESS, RAY_LINK) else None

    def _why_needed(self, candidate: Candidate) -> str | None:
        """Why a living cluster may need it; a cluster that cannot be seen may have its address anywhere."""
        if candidate.kind == RAY_LINK and os.path.exists(candidate.path):
            led = os.path.realpath(candidate.path)
            return None if led in self._going else f"it leads to {clean_words(led)}, which is there"
        if self._sure and (hidden := self._hidden_session(candidate.path)) is not None:
            return f"a cluster lives in {clean_words(hidden)}, whose processes cannot be seen from here"
        commands = self._in_use.commands
        return why_current(candidate.path, commands, ended=self._sure) if candidate.kind == RAY_ADDRESS else None

    def _hidden_session(self, path: str) -> str | None:
        """A session in the same folder whose sockets are served by a process that cannot be seen."""
        for folder in sessions_beside(path):
            if folder not in self._going and self._in_use.holder(folder, {}) is None:
                sockets = os.path.join(folder, "sockets")
                if os.path.isdir(sockets) and any(is_heard(os.path.join(sockets, name)) for name in os.listdir(sockets)):
                    return folder
        return None

    def _why_not_segment(self, name: str, removal: Removal, found: os.stat_result) -> str | None:
        if hidden := hidden_neighbours():
            return hidden
        match = SEGMENT.match(name)
        if match is not None and match["maker"] and int(match["maker"]) in self._in_use.alive:
            return f"its maker, pid {match['maker']}, lives"
        if name.startswith(TRACKED) and any(started < removal.newest_at for started in self._in_use.trackers.values()):
            return "a live Python program was there when it was made, and may still know its name"
        if found.st_mode & 0o077 and self._in_use.others_unseen:
            return "others may use it, and their processes cannot be looked into"
        return None


def _measured(candidate: Candidate, found: os.stat_result) -> FileTree | str:
    """The candidate with its contents, or why it is never removed. Raises `OSError`."""
    name = os.path.basename(candidate.path)
    own, folder, plain = (found.st_dev, found.st_ino), modes.S_ISDIR(found.st_mode), modes.S_ISREG(found.st_mode)
    names, files, sockets = {own: name}, {own: candidate.path} if plain else {}, list[str]()
    allocated, newest = found.st_blocks * 512, max(found.st_mtime, found.st_ctime)
    if not folder and candidate.kind != RAY_LINK and (not plain or found.st_nlink != 1):
        return "it is no plain file, or has a second name"
    for entry in _below(candidate.path) if folder else ():
        inside = entry.stat(follow_symlinks=False)
        if inside.st_dev != found.st_dev:
            return "another file system is mounted in it"
        if inside.st_uid != found.st_uid:
            return "it holds files of another user"
        inode = (inside.st_dev, inside.st_ino)
        names[inode] = entry.name
        if modes.S_ISREG(inside.st_mode):
            files[inode] = entry.path
        elif modes.S_ISSOCK(inside.st_mode):
            sockets.append(entry.path)
        allocated, newest = allocated + inside.st_blocks * 512, max(newest, inside.st_mtime)
        if len(names) > MOST_FILES:
            return f"it holds more than {some(MOST_FILES, 'file')}: look at it yourself"
    removal = Removal(
        path=candidate.path,
        kind=candidate.kind,
        device=found.st_dev,
        inode=found.st_ino,
        uid=found.st_uid,
        modified_ns=found.st_mtime_ns,
        newest_at=newest,
        allocated_bytes=allocated,
        files=len(names) - 1 if folder else 1,
        folder=folder,
    )
    return FileTree(removal, names, files, tuple(sockets))


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
    """Why the lock stays: it is held. `flock` is free once its owner is dead."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "it is locked"
    finally:
        os.close(fd)
    return None
