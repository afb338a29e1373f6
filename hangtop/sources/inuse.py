"""What living processes hold: files they map or have open, folders they stand in, sockets, and names in their command lines.

A leftover is what nobody holds. So whoever of our own user cannot be looked into makes the answer "perhaps", never "no".
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct

from hangtop.sources.proc.guard import Guard
from hangtop.sources.proc.leftovers import TRAINING_NAMES
from hangtop.sources.proc.table import ProcessTable, Stat

MAP_LINE = re.compile(r"^\S+ \S+ \S+ (?P<major>[0-9a-f]+):(?P<minor>[0-9a-f]+) (?P<inode>\d+) +(?P<path>/.*)?$")
"""One line of `/proc/PID/maps` (proc_pid_maps(5)); device numbers are hexadecimal."""
LATE_S = 0.5
"""Who did not answer has so long until it is asked again."""
TRACKER = "multiprocessing.resource_tracker"

PROBE = ("-m", "hangtop.probe")
"""It reads what it watches, and loses nothing with it: a session that hangtop looks at is not in use for that."""
NEVER_HOLD = frozenset(
    "sshd sshd-session sshd-auth ssh-agent gpg-agent systemd (sd-pam) sudo su login polkitd fusermount3".split()
)
"""Programs of our own user that the kernel does not let us look into (they were given more rights), and that train nothing."""


class Holds(Struct, frozen=True):
    """What one process holds. `paths`: files below the asked folders; `mapped`: (device, inode); `command`: its arguments."""

    paths: frozenset[str] = frozenset()
    mapped: frozenset[tuple[int, int]] = frozenset()
    command: str = ""


class InUse(Struct, frozen=True):
    """By whom things are held. `unseen`: pids of our own user that did not let us look. `alive`: all pids.

    `trackers`: start times (unix) of our user's live resource trackers: the names of shared memory that they know are not seen.
    """

    paths: Mapping[str, int]
    mapped: Mapping[tuple[int, int], int]
    commands: Mapping[int, str]
    unseen: tuple[int, ...] = ()
    others_unseen: bool = False
    alive: frozenset[int] = frozenset()
    trackers: tuple[float, ...] = ()

    def holder(self, path: str, device: int, inode: int) -> int | None:
        """Who maps or has open this file, or anything below this folder."""
        if (pid := self.mapped.get((device, inode))) is not None:
            return pid
        below = path + "/"
        return next((pid for held, pid in self.paths.items() if held == path or held.startswith(below)), None)

    def named_by(self, word: str) -> int | None:
        """Whose command line holds this word."""
        return next((pid for pid, command in self.commands.items() if word in command), None)


def look(table: ProcessTable, folders: Iterable[str], uid: int, guard: Guard[int, Holds]) -> InUse:
    """Everything that any process holds below these folders (real paths). A process that does not answer in time is unseen."""
    roots = tuple(folder.rstrip("/") + "/" for folder in folders)
    table.refresh(tuple(table.stats))
    living = [stat for stat in table.stats.values() if not stat.kernel and stat.state not in "ZX" and stat.pid != os.getpid()]
    seen = _asked(table, [stat.pid for stat in living], roots, guard)
    dark = _still_dark(table, [stat for stat in living if stat.pid not in seen])
    owners = {pid: table.owner(pid) for pid in dark}
    return InUse(
        paths={path: pid for pid, holds in seen.items() for path in holds.paths} | _sockets(roots),
        mapped={key: pid for pid, holds in seen.items() for key in holds.mapped},
        commands={pid: holds.command for pid, holds in seen.items()},
        unseen=tuple(pid for pid, owner in owners.items() if owner == uid and not _is_bystander(table.stats[pid])),
        others_unseen=any(owner not in (uid, 0, None) for owner in owners.values()),
        alive=frozenset(stat.pid for stat in living),
        trackers=_trackers(table, seen, living, uid),
    )


def files_of(table: ProcessTable, pids: Iterable[int], folder: str, guard: Guard[int, Holds]) -> frozenset[str]:
    """Files of this folder that these processes have open or map; of those that do not answer nothing is known."""
    held = _asked(table, pids, (folder.rstrip("/") + "/",), guard)
    return frozenset(path for holds in held.values() for path in holds.paths if path != folder)


def _asked(table: ProcessTable, pids: Iterable[int], roots: tuple[str, ...], guard: Guard[int, Holds]) -> dict[int, Holds]:
    """What each holds. Who does not answer in time is asked a second time: the machine may only be busy."""
    questions = {pid: partial(_holds, table, pid, roots) for pid in pids}
    answers = guard.ask(questions)
    if late := {pid: question for pid, question in questions.items() if pid not in answers}:
        time.sleep(LATE_S)
        answers |= guard.ask(late)
    return {pid: holds for pid, holds in answers.items() if isinstance(holds, Holds)}


def _still_dark(table: ProcessTable, unanswered: list[Stat]) -> list[int]:
    """Those that live on: who ends while it is looked into answers with any of several errors, and holds nothing any more."""
    if not unanswered:
        return []
    table.refresh([stat.pid for stat in unanswered])
    now = {stat.pid: table.stats.get(stat.pid) for stat in unanswered}
    return [
        stat.pid
        for stat in unanswered
        if (known := now[stat.pid]) is not None and known.identity == stat.identity and known.state not in "ZX"
    ]


def _is_bystander(stat: Stat) -> bool:
    """Whether one that cannot be looked into is known to hold nothing of a run."""
    return stat.name in NEVER_HOLD or (stat.pid == 1 and not stat.name.startswith(TRAINING_NAMES))


def hidden_neighbours() -> str | None:
    """Whether processes that we cannot see may share our shared memory: a container with the machine's IPC namespace.

    4026531836 and 4026531839 are the first namespaces of a machine (include/linux/proc_ns.h).
    """
    try:
        pid, ipc = os.readlink("/proc/self/ns/pid"), os.readlink("/proc/self/ns/ipc")
    except OSError:
        return "which processes share it cannot be seen here"
    if ipc == "ipc:[4026531839]" and pid != "pid:[4026531836]":
        return "this container shares it with processes that cannot be seen from here: run hangtop on the machine itself"
    return None


def _holds(table: ProcessTable, pid: int, roots: tuple[str, ...]) -> Holds:
    """Raises `PermissionError` when it may not be seen, `FileNotFoundError` when it is gone."""
    files = {file.target for file in table.open_files(pid)}
    mapped: set[tuple[int, int]] = set()
    for line in _maps(pid):
        match = MAP_LINE.match(line)
        if match is not None and match["path"]:
            files.add(match["path"].removesuffix(" (deleted)"))
            if match["path"].startswith(roots):
                mapped.add((os.makedev(int(match["major"], 16), int(match["minor"], 16)), int(match["inode"])))
    files.add(os.readlink(f"/proc/{pid}/cwd"))
    words = table.command(pid)
    if words[1:3] == PROBE:
        return Holds()
    command = "\0".join(words)
    return Holds(frozenset(path for path in files if (path + "/").startswith(roots)), frozenset(mapped), command)


def _maps(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/maps").read_text("utf-8", "replace").splitlines()


def _sockets(roots: tuple[str, ...]) -> dict[str, int]:
    """Bound Unix sockets: the kernel lists them for as long as somebody has them open. Whose they are it does not say: pid 0."""
    try:
        lines = Path("/proc/net/unix").read_text("utf-8", "replace").splitlines()
    except OSError:
        return {}
    named = (line.split(maxsplit=7)[-1] for line in lines if line.count(" ") >= 7)
    return {path: 0 for path in named if path.startswith(roots)}


def _trackers(table: ProcessTable, seen: Mapping[int, Holds], living: Iterable[Stat], uid: int) -> tuple[float, ...]:
    return tuple(
        table.started_at(stat.start_ticks)
        for stat in living
        if stat.pid in seen and TRACKER in seen[stat.pid].command and table.owner(stat.pid) == uid
    )
