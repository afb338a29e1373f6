"""Which processes of this machine have an object open: one look through `/proc/*/fd` for all objects at once."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from functools import partial

from msgspec import Struct

from hangtop.system.guard import Guard
from hangtop.system.processes.proc_files import read_proc
from hangtop.system.processes.table import ProcessTable
from hangtop.system.waits.locks import FileLock, held_through

MAX_DESCRIPTORS = 65_536
"""A process with more is not searched, and counts as hidden: 4 µs each."""
DELETED = " (deleted)"


class Wanted(Struct, frozen=True):
    """`links`: as `pipe:[7]` and `socket:[7]`, which are unique. `names`: the last part of paths, for FIFOs and locked files,
    which are told by their inodes then: a path may differ from one mount namespace to the next."""

    links: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


class Held(Struct, frozen=True):
    """A descriptor of a process that is wanted. `inode`, `locks`: told if it was found by its name."""

    pid: int
    fd: int
    link: str
    reads: bool
    writes: bool
    inode: int | None = None
    locks: tuple[FileLock, ...] = ()


class Holders(Struct, frozen=True):
    """`hidden`: the pids that may not be read, did not answer in time, or have too many descriptors."""

    held: tuple[Held, ...] = ()
    hidden: frozenset[int] = frozenset()

    def of_link(self, link: str) -> tuple[Held, ...]:
        return tuple(each for each in self.held if each.link == link)

    def of_inode(self, inode: int) -> tuple[Held, ...]:
        return tuple(each for each in self.held if each.inode == inode)


def find_holders(table: ProcessTable, wanted: Wanted, guard: Guard[int, tuple[Held, ...]]) -> Holders:
    """Look through all processes of the table, which must be fresh."""
    if not wanted.links and not wanted.names:
        return Holders()
    there = [stat for stat in table.stats.values() if not stat.kernel and stat.state not in "ZX"]
    answers = guard.ask({stat.pid: partial(_held, stat.pid, stat.thread, wanted) for stat in there})
    hidden = {stat.pid for stat in there if not _is_told(answers.get(stat.pid))}
    return Holders(tuple(each for found in answers.values() if isinstance(found, tuple) for each in found), frozenset(hidden))


def _is_told(answer: tuple[Held, ...] | OSError | None) -> bool:
    """One that is gone holds nothing."""
    return isinstance(answer, tuple | FileNotFoundError | ProcessLookupError)


def _held(pid: int, thread: int | None, wanted: Wanted) -> tuple[Held, ...]:
    """`thread`: a living one, if the first has ended. Raises `OSError`."""
    folder = f"/proc/{pid}" if thread is None else f"/proc/{pid}/task/{thread}"
    return tuple(_descriptors(pid, folder, wanted))


def _descriptors(pid: int, folder: str, wanted: Wanted) -> Iterable[Held]:
    listed = os.listdir(f"{folder}/fd")
    if len(listed) > MAX_DESCRIPTORS:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    for fd in listed:
        path = f"{folder}/fd/{fd}"
        try:
            link = os.readlink(path)
            named = link.startswith("/") and link.removesuffix(DELETED).rpartition("/")[2] in wanted.names
            if link not in wanted.links and not named:
                continue
            mode = os.lstat(path).st_mode
            fdinfo = read_proc(f"{folder}/fdinfo/{fd}").decode("utf-8", "replace") if named else ""
        except FileNotFoundError:  # closed since
            continue
        inode = next((int(line[4:]) for line in fdinfo.splitlines() if line.startswith("ino:")), None)
        yield Held(pid, int(fd), link, bool(mode & 0o400), bool(mode & 0o200), inode, held_through(fdinfo))
