"""Locks on files for which processes wait, and who has them: what /proc/locks (proc_locks(5)) and the descriptors of all
processes say, which the other side reads (`hangtop.probe.nodes.node_locks`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from hangtop.probe.nodes.node_side.proc import fields, link, listed, read

KINDS = ("POSIX", "FLOCK", "OFDLCK")
MOST_FILES, MOST_HOLDERS, HOPS = 4096, 32, 3
Row = tuple[str, bool, bool, int, int]
"""A line, whether it waits, whether it is exclusive, and its pid and inode."""


def chain(pids: Iterable[int]) -> dict[int, dict[str, Any]]:
    """What is told of the locks of those of these processes that wait for one, of who has these, and so on."""
    found: dict[int, dict[str, Any]] = {}
    todo = sorted(pids)
    for hop in range(HOPS):
        told = awaited(todo)
        if hop:
            found.update({pid: {} for pid in todo if pid not in told})
        found.update(told)
        holders = {each[0] for locks in told.values() for each in locks["held"]}
        todo = sorted(holders - set(found))[:MOST_HOLDERS]
        if not todo:
            break
    return found


def awaited(pids: Iterable[int]) -> dict[int, dict[str, Any]]:
    """By pid: its lines and `mine`, [descriptor, path, inode] of its files that are locked; `held`: who has locked such a file:
    [pid, descriptor, path, inode, locks that are held through it]; `hidden`: how many may not be looked into."""
    rows = list(lines())
    mine = {pid: locked_files(pid, rows) for pid in pids} if rows else {}
    mine = {pid: files for pid, files in mine.items() if files}
    names = {path.rpartition("/")[2] for files in mine.values() for _, path, _ in files}
    held, hidden = holders(names) if names else ([], 0)
    found = {}
    for pid, files in mine.items():
        inodes = {inode for _, _, inode in files}
        told = [line for line, *_, inode in rows if inode in inodes]
        found[pid] = {"lines": told, "mine": files, "held": [each for each in held if each[3] in inodes], "hidden": hidden}
    return found


def lines() -> Iterator[Row]:
    for line in read("/proc/locks").decode("ascii", "replace").splitlines():
        row = line.partition(": ")[2]
        words = row.replace("->", " ").split()
        inode = words[4].rpartition(":")[2] if len(words) > 6 else ""
        if words[:1] and words[0] in KINDS and inode.isdigit():
            yield line, "->" in row, words[2] == "WRITE", int(words[3]), int(inode)


def locked_files(pid: int, rows: list[Row]) -> list[list[Any]]:
    """Its files that another has locked. The kernel tells by pid who waits, except for locks of an open file (-1)."""
    wanted = {inode for _, waits, exclusive, owner, inode in rows if exclusive and not waits and owner != pid}
    wanted |= {inode for _, waits, _, owner, inode in rows if waits and owner in (pid, -1)}
    return [[fd, path, inode] for fd, path, inode, _ in plain_files(pid) if inode in wanted] if wanted else []


def holders(names: set[str]) -> tuple[list[list[Any]], int]:
    """Who has a file of these names open; and how many may not be looked into."""
    found: list[list[Any]] = []
    hidden = 0
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            os.listdir(f"/proc/{pid}/fd")
        except PermissionError:
            hidden += 1
        except OSError:  # it has ended
            continue
        for fd, path, inode, about in plain_files(pid, names):
            rows = [line.partition(": ")[2] for line in about.splitlines() if line.startswith("lock:")]
            if rows:
                found.append([pid, fd, path, inode, rows])
    return found, hidden


def plain_files(pid: int, names: set[str] | None = None) -> Iterator[tuple[int, str, int, str]]:
    """Descriptor, path, inode (there since Linux 5.14) and fdinfo of its files, or of those with such a name."""
    folder = f"/proc/{pid}"
    for name in listed(f"{folder}/fd")[:MOST_FILES]:
        path = link(f"{folder}/fd/{name}")
        base = path[: -len(" (deleted)")] if path.endswith(" (deleted)") else path
        is_device = path.startswith("/dev/") and not path.startswith("/dev/shm/")
        if not path.startswith("/") or is_device or (names is not None and base.rpartition("/")[2] not in names):
            continue
        about = read(f"{folder}/fdinfo/{name}")
        inode = fields(about).get("ino", "")
        if inode.isdigit():
            yield int(name), base, int(inode), about.decode("ascii", "replace")
