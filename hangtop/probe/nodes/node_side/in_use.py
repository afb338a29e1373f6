"""Which process of this node maps a file, has it open or works in it; one of our own user that cannot be read makes the answer
"perhaps", never "no"."""

from __future__ import annotations

import os
import queue
import threading
import time
from contextlib import suppress
from typing import Any

from hangtop.probe.nodes.node_side.proc import TICKS_PER_S, boot_at, fields, link, listed, read, stat_of

PATIENCE_S, READERS = 5.0, 8
"""For all processes together: the kernel may keep a reader waiting for one that is stuck."""
NAME, KERNEL, START = 0, 5, 6
"""Places in the first part of `stat_of`."""
DELETED = " (deleted)"
File = tuple[int, str]
"""Inode and last part of the path: a device is told otherwise on some file systems, a folder otherwise in a container."""
Living = tuple[list[Any], int]
"""The first part of `stat_of`, and a thread that lives."""


class InUse:
    """As of now. `never_hold`: programs of our own user that train nothing and may not be read. `training`: how the names of
    those begin that train: one that is the first of a container is no init."""

    def __init__(self, never_hold: list[str], training: list[str], tracker: str) -> None:
        stats = {pid: known for pid, known in living().items() if not known[0][KERNEL] and pid != os.getpid()}
        told = files_of_all({pid: thread for pid, (_, thread) in stats.items()})
        self.alive = set(stats)
        self.held = {file: pid for pid, (files, _, _) in told.items() for file in files or ()}
        mine = os.geteuid()
        still = living()
        names = {
            pid: str(who[NAME])
            for pid, (who, _) in stats.items()
            if (pid not in told or told[pid][0] is None) and pid in still and still[pid][0] == who
        }
        owners = {pid: told[pid][2] if pid in told else mine for pid in names}
        bystanders = {
            pid for pid, name in names.items() if name in never_hold or (pid == 1 and not name.startswith(tuple(training)))
        }
        self.unseen = {pid: names[pid] for pid, uid in owners.items() if uid == mine and pid not in bystanders}
        self.others_unseen = any(uid not in (0, mine) for uid in owners.values())
        boot = boot_at()
        self.trackers = {
            pid: boot + stats[pid][0][START] / TICKS_PER_S
            for pid, (_, command, uid) in told.items()
            if tracker in command and uid == mine
        }
        """By pid, when Python's trackers of shared memory began: the names that they know cannot be seen."""

    def holder(self, inode: int, name: str) -> int | None:
        return self.held.get((inode, name))


def living() -> dict[int, Living]:
    """All processes but zombies, which hold nothing."""
    pids = [int(name) for name in listed("/proc") if name.isdigit()]
    known = [(pid, stat) for pid in pids if (stat := stat_of(pid)) is not None]
    return {pid: (who, thread) for pid, (who, now) in known if (thread := living_thread(pid, now[0])) is not None}


def living_thread(pid: int, state: str) -> int | None:
    """The first one, as a rule. Where that has ended before the others, `/proc` tells the files and memory of those alone."""
    if state not in "ZX":
        return pid
    threads = ((int(name), stat_of(int(name))) for name in listed(f"/proc/{pid}/task"))
    return next((thread for thread, stat in threads if stat is not None and stat[1][0] not in "ZX"), None)


def files_of_all(threads: dict[int, int]) -> dict[int, tuple[set[File] | None, str, int]]:
    """By pid of those that answered, each through this thread: its files, `None` where they may not be read; its command; its
    user."""
    todo: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
    for each in threads.items():
        todo.put(each)
    found: dict[int, tuple[set[File] | None, str, int]] = {}

    def work() -> None:
        with suppress(queue.Empty):
            while True:
                pid, thread = todo.get_nowait()
                uid = fields(read(f"/proc/{thread}/status")).get("Uid", "").split()[1:2]
                command = read(f"/proc/{thread}/cmdline").replace(b"\0", b" ").decode("utf-8", "replace")
                files = files_of(thread)
                if uid:  # else it has ended
                    found[pid] = files, command, int(uid[0])

    readers = [threading.Thread(target=work, daemon=True) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    until = time.monotonic() + PATIENCE_S
    for reader in readers:
        reader.join(max(0.0, until - time.monotonic()))
    return found.copy()


def files_of(thread: int) -> set[File] | None:
    """No path is followed: what lies on a dead server is told by the kernel's own tables."""
    folder, found = f"/proc/{thread}", set[File]()
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
