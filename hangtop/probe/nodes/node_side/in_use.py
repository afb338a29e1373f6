"""Which process of this node maps a file, has it open or works in it; one of our own user that cannot be read makes the answer
"perhaps", never "no"."""

from __future__ import annotations

import os
import queue
import threading
import time
from contextlib import suppress
from typing import Any

from hangtop.probe.nodes.node_side.births import all_stats
from hangtop.probe.nodes.node_side.proc import TICKS_PER_S, boot_at, fields, link, read

PATIENCE_S, READERS = 5.0, 8
"""For all processes together: the kernel may keep a reader waiting for one that is stuck."""
START, KERNEL = 6, 5
"""Places in the first part of `stat_of`."""
DELETED = " (deleted)"
File = tuple[int, str]
"""Inode and last part of the path: a device is told otherwise on some file systems, a folder otherwise in a container."""


class InUse:
    """As of now. `never_hold`: programs of our own user that train nothing and may not be read."""

    def __init__(self, never_hold: list[str], tracker: str) -> None:
        stats = {pid: who for pid, who in all_stats().items() if not who[KERNEL] and pid != os.getpid()}
        told = files_of_all(stats)
        self.alive = set(stats)
        self.held = {file: pid for pid, (files, _, _) in told.items() for file in files or ()}
        mine = os.geteuid()
        still = all_stats()
        dark = {pid for pid in stats if (pid not in told or told[pid][0] is None) and pid in still and still[pid] == stats[pid]}
        owners = {pid: told[pid][2] if pid in told else mine for pid in dark}
        unseen = {pid: stats[pid][0] for pid, uid in owners.items() if uid == mine and stats[pid][0] not in never_hold}
        self.unseen = {pid: name for pid, name in unseen.items() if pid != 1}
        self.others_unseen = any(uid not in (0, mine) for uid in owners.values())
        boot = boot_at()
        self.trackers = {
            pid: boot + stats[pid][START] / TICKS_PER_S
            for pid, (_, command, uid) in told.items()
            if tracker in command and uid == mine
        }
        """By pid, when Python's trackers of shared memory began: the names that they know cannot be seen."""

    def holder(self, inode: int, name: str) -> int | None:
        return self.held.get((inode, name))


def files_of_all(stats: dict[int, list[Any]]) -> dict[int, tuple[set[File] | None, str, int]]:
    """By pid of those that answered: its files, `None` where they may not be read; its command; its user."""
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for pid in stats:
        todo.put(pid)
    found: dict[int, tuple[set[File] | None, str, int]] = {}

    def work() -> None:
        with suppress(queue.Empty):
            while True:
                pid = todo.get_nowait()
                uid = fields(read(f"/proc/{pid}/status")).get("Uid", "").split()[1:2]
                command = read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode("utf-8", "replace")
                files = files_of(pid)
                if uid:  # else it has ended
                    found[pid] = files, command, int(uid[0])

    readers = [threading.Thread(target=work, daemon=True) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    until = time.monotonic() + PATIENCE_S
    for reader in readers:
        reader.join(max(0.0, until - time.monotonic()))
    return found.copy()


def files_of(pid: int) -> set[File] | None:
    """No path is followed: what lies on a dead server is told by the kernel's own tables."""
    folder, found = f"/proc/{pid}", set[File]()
    try:
        with open(folder + "/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                words = line.rstrip("\n").split(None, 5)
                if len(words) == 6 and words[5].startswith("/"):
                    found.add((int(words[4]), name_of(words[5])))
        names = os.listdir(folder + "/fd")
    except PermissionError:
        return None
    except OSError:  # it has ended
        return set()
    for name in names:
        target = link(f"{folder}/fd/{name}")
        inode = fields(read(f"{folder}/fdinfo/{name}")).get("ino", "") if target.startswith("/") else ""
        if inode.isdigit():
            found.add((int(inode), name_of(target)))
    return found


def name_of(path: str) -> str:
    return (path[: -len(DELETED)] if path.endswith(DELETED) else path).rpartition("/")[2]
