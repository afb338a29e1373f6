"""What living processes hold: files that they map or have open, working folders, sockets, and names in their command lines.

A leftover is held by no process. A process of our own user that cannot be read makes the answer "perhaps", never "no".
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import signal
import socket
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from hangtop.probe.leftovers.orphans import TRAINING_NAMES
from hangtop.system.files.inode import Inode, inode_of
from hangtop.system.guard import Guard
from hangtop.system.processes.proc_files import FIRST_PID_NAMESPACE, namespace
from hangtop.system.processes.table import ProcessTable, Stat
from hangtop.system.processes.tree import ancestors

Value = TypeVar("Value")

MAP_LINE = re.compile(r"^\S+ \S+ \S+ (?P<major>[0-9a-f]+):(?P<minor>[0-9a-f]+) (?P<inode>\d+) +(?P<path>/.*)?$")
"""One line of `/proc/PID/maps` (proc_pid_maps(5)); device numbers are hexadecimal."""
DELETED = " (deleted)"
LATE_S, PATIENCE_S, RUNNABLE_S = 0.25, 3.0, 20.0
"""A process that lives and did not answer is asked again after the first, for the second: for the third while it is runnable, for
then all that it lacks is a processor."""
GONE = (FileNotFoundError, ProcessLookupError)
SPECIAL = ("/dev/null", "/dev/pts/", "/dev/tty", "/dev/nvidia", "/proc/", "/sys/")
"""Never leftovers, and most processes have some open."""
TRACKER = "multiprocessing.resource_tracker"

LEASED = frozenset({errno.EAGAIN, errno.EBUSY})
PROBE = ("-m", "hangtop.probe")
"""A probe only reads: a session is not in use because hangtop watches it."""
NEVER_HOLD = frozenset(
    "sshd sshd-session sshd-auth ssh-agent gpg-agent systemd (sd-pam) sudo su login polkitd fusermount3".split()
)
"""Programs of our own user that the kernel does not let us read, since they were given more rights, and that train nothing."""


class Holds(Struct, frozen=True):
    """What one process holds. `paths`: files below the asked folders, by its own names for them; `files`: all that it maps, has
    open or works in; `names`: (inode, last part of the path) of what it maps, for file systems that tell another device there.

    `command`: its arguments, joined by NUL. `net`: its network namespace. `watches`: it is a probe of hangtop.
    """

    paths: frozenset[str] = frozenset()
    files: frozenset[Inode] = frozenset()
    names: frozenset[tuple[int, str]] = frozenset()
    command: str = ""
    net: str = ""
    watches: bool = False


@dataclass(frozen=True)
class OpenHandles:
    """Which pid holds what.

    `processes`: those that could be read; `unseen`: pids of our own user that could not, with their names; `alive`: all pids.
    `sockets`: bound
    ones; the kernel does not tell whose they are, so they count as pid 0. `trackers`: by pid, start times (unix) of our user's
    live resource trackers: the names of shared memory that they know cannot be seen. `commands`: of all processes except those
    that started us, which may name the thing that they ask about. `watched`: files that probes of hangtop have open."""

    processes: Mapping[int, Holds]
    sockets: frozenset[str]
    commands: Mapping[int, str]
    unseen: Mapping[int, str]
    others_unseen: bool
    alive: frozenset[int]
    trackers: Mapping[int, float]
    watched: frozenset[Inode]

    @cached_property
    def _paths(self) -> dict[str, int]:
        held = {path: pid for pid, holds in self.processes.items() for path in holds.paths}
        return held | dict.fromkeys(self.sockets, 0)

    @cached_property
    def _inodes(self) -> dict[Inode | tuple[int, str], int]:
        """By inode, and by inode number and name."""
        found: dict[Inode | tuple[int, str], int] = {}
        for pid, holds in self.processes.items():
            found |= dict.fromkeys(holds.files, pid)
            found |= dict.fromkeys(holds.names, pid)
        return found

    def holder(self, path: str, inside: Mapping[Inode, str]) -> int | None:
        """A process that maps or has open this file, or anything below this folder. `inside`: it and all below it, with names.

        By device and inode, whatever the holder calls it: another container has the same folder elsewhere.
        """
        for inode, name in inside.items():
            for key in (inode, (inode[1], name)):
                if (pid := self._inodes.get(key)) is not None:
                    return pid
        below = path + "/"
        return next((pid for held, pid in self._paths.items() if held == path or held.startswith(below)), None)

    def named_by(self, word: str) -> int | None:
        """A process whose command line holds this word."""
        return next((pid for pid, command in self.commands.items() if word in command), None)

    def held_by(self, pids: Collection[int]) -> frozenset[Inode]:
        """All that these processes hold, whether or not others hold it too."""
        return frozenset(inode for pid in pids if pid in self.processes for inode in self.processes[pid].files)

    def without(self, pids: Collection[int], folder: str) -> OpenHandles:
        """As if these processes had ended, and the sockets in this folder with them."""
        below = folder + "/" if folder else "\0"
        return replace(
            self,
            processes=_but(self.processes, pids),
            sockets=frozenset(path for path in self.sockets if not path.startswith(below)),
            commands=_but(self.commands, pids),
            alive=self.alive - set(pids),
            trackers=_but(self.trackers, pids),
        )


def _but(by_pid: Mapping[int, Value], pids: Collection[int]) -> dict[int, Value]:
    return {pid: value for pid, value in by_pid.items() if pid not in pids}


def open_handles(table: ProcessTable, folders: Iterable[str], guard: Guard[int, Holds] | None = None) -> OpenHandles:
    """Everything that any process holds below these folders (real paths). A process that does not answer in time is `unseen`."""
    uid, guard = os.geteuid(), guard or Guard()
    roots = tuple(folder.rstrip("/") + "/" for folder in folders)
    table.refresh(tuple(table.stats))
    living = [stat for stat in table.stats.values() if not stat.kernel and stat.state not in "ZX" and stat.pid != os.getpid()]
    seen = _asked(table, [stat.pid for stat in living], roots, guard)
    dark = _still_dark(table, [stat for stat in living if stat.pid not in seen])
    owners = {pid: table.owner(pid) for pid in dark}
    probes = {pid for pid, holds in seen.items() if holds.watches}
    own = {inode for _, inode in _opened("/proc/self") if inode is not None}
    watched = frozenset(own.union(*(seen[pid].files for pid in probes)))
    seen = _but(seen, probes)
    commands = command_lines(table, dark) | {pid: holds.command for pid, holds in seen.items()}
    asking = ancestors(table.stats, os.getpid())
    bystanders = {  # by the name that each has now: a child of sshd may have become another program meanwhile
        pid for pid in dark if (name := table.stats[pid].name) in NEVER_HOLD or (pid == 1 and not name.startswith(TRAINING_NAMES))
    }
    return OpenHandles(
        seen,
        _sockets(roots, seen),
        _but(commands, asking),
        unseen={pid: table.stats[pid].name for pid, owner in owners.items() if owner == uid and pid not in bystanders},
        others_unseen=any(owner not in (uid, 0, None) for owner in owners.values()),
        alive=frozenset(stat.pid for stat in living),
        trackers={
            stat.pid: table.started_at(stat.start_ticks)
            for stat in living
            if stat.pid in seen and TRACKER in seen[stat.pid].command and table.owner(stat.pid) == uid
        },
        watched=watched,
    )


def files_of(table: ProcessTable, pids: Iterable[int], folder: str, guard: Guard[int, Holds]) -> frozenset[str]:
    """Files of this folder that these processes have open or map, as far as they answer."""
    held = _asked(table, pids, (folder.rstrip("/") + "/",), guard)
    return frozenset(path for holds in held.values() for path in holds.paths if path != folder)


def _asked(table: ProcessTable, pids: Iterable[int], roots: tuple[str, ...], guard: Guard[int, Holds]) -> dict[int, Holds]:
    """What each process holds. One that lives and tells nothing yet is asked again: the machine may only be busy, or the process
    is about to end. It has lost its memory map and folders by then (kernel/exit.c, `do_exit`), and is seen to run until the last
    of its memory is freed. One that refuses is not asked again: it would refuse again."""
    questions = {pid: partial(_holds, table, pid, roots) for pid in pids}
    answers = guard.ask(questions)
    begun_at = time.monotonic()
    while late := _silent(table, questions, answers):
        runs = any(table.stats[pid].state == "R" for pid in late)
        if time.monotonic() - begun_at >= (RUNNABLE_S if runs else PATIENCE_S):
            break
        time.sleep(LATE_S)
        answers |= guard.ask({pid: questions[pid] for pid in late})
    return {pid: holds for pid, holds in answers.items() if not isinstance(holds, OSError)}


def _silent(table: ProcessTable, asked: Iterable[int], answers: Mapping[int, Holds | OSError]) -> list[int]:
    """The living processes that neither answered nor refused."""
    silent = [pid for pid in asked if pid not in answers or isinstance(answers[pid], GONE)]
    if not silent:
        return []
    before = {pid: table.stats[pid].identity for pid in silent if pid in table.stats}
    table.refresh(silent)
    now = table.stats
    return [
        pid for pid, identity in before.items() if pid in now and now[pid].identity == identity and now[pid].state not in "ZX"
    ]


def command_lines(table: ProcessTable, pids: Iterable[int]) -> dict[int, str]:
    """The arguments of these processes, joined by NUL, as far as they answer: every user may see them."""
    guard: Guard[int, tuple[str, ...]] = Guard()
    told = guard.known({pid: partial(table.command, pid) for pid in pids})
    return {pid: "\0".join(words) for pid, words in told.items()}


def _still_dark(table: ProcessTable, unanswered: list[Stat]) -> list[int]:
    """The unanswered processes that still live: one that ends while it is read gives any of several errors, and holds nothing."""
    if not unanswered:
        return []
    table.refresh([stat.pid for stat in unanswered])
    living = {stat.identity for stat in table.stats.values() if stat.state not in "ZX"}
    return [stat.pid for stat in unanswered if stat.identity in living]


def hidden_neighbours() -> str | None:
    """Why processes that we cannot see may share our shared memory: a container with the machine's IPC namespace.

    4026531839 is the first IPC namespace of a machine (include/linux/proc_ns.h).
    """
    pid, ipc = namespace("self", "pid"), namespace("self", "ipc")
    if pid is None or ipc is None:
        return "which processes share it cannot be seen here"
    if ipc == "ipc:[4026531839]" and pid != FIRST_PID_NAMESPACE:
        return "this container shares it with processes that cannot be seen from here: run hangtop on the machine itself"
    return None


def _holds(table: ProcessTable, pid: int, roots: tuple[str, ...]) -> Holds:
    """Raises `PermissionError` when it may not be read, `FileNotFoundError` or `ProcessLookupError` when it is gone."""
    words = table.command(pid)
    stat = table.stats.get(pid)
    first = stat.thread if stat is not None and stat.thread is not None else pid
    whole = f"/proc/{pid}" if first == pid else f"/proc/{pid}/task/{first}"
    mapped, opened = set(_mapped(f"{whole}/maps")), set(_opened(whole))
    paths = {path for path, _ in (*mapped, *opened)}
    return Holds(
        frozenset(path for path in paths if (path + "/").startswith(roots)),
        frozenset(inode for _, inode in (*mapped, *opened) if inode is not None),
        frozenset((inode[1], os.path.basename(path)) for path, inode in mapped),
        "\0".join(words),
        os.readlink(f"/proc/{pid}/ns/net"),
        watches=words[1:3] == PROBE,
    )


def _mapped(maps: str) -> Iterator[tuple[str, Inode]]:
    """The files that a process maps."""
    for line in Path(maps).read_text("utf-8", "replace").splitlines():
        match = MAP_LINE.match(line)
        if match is not None and match["path"]:
            device = os.makedev(int(match["major"], 16), int(match["minor"], 16))
            yield match["path"].removesuffix(DELETED), (device, int(match["inode"]))


def _opened(process: str) -> Iterator[tuple[str, Inode | None]]:
    """What it has open, and where it stands. No inode where its file system is dead, or not for us: no leftover of ours lies
    there."""
    for link in [f"{process}/cwd", *(f"{process}/fd/{fd}" for fd in os.listdir(f"{process}/fd"))]:
        try:
            target = os.readlink(link)
        except (FileNotFoundError, ProcessLookupError):  # closed meanwhile
            continue
        if target.startswith("/") and not target.startswith(SPECIAL):
            inode = None
            with contextlib.suppress(OSError):
                inode = inode_of(link)
            yield target.removesuffix(DELETED), inode


def _sockets(roots: tuple[str, ...], seen: Mapping[int, Holds]) -> frozenset[str]:
    """Bound Unix sockets of every network namespace: the kernel lists them as long as a process has them open."""
    processes = {holds.net: pid for pid, holds in seen.items() if holds.net}
    lines: list[str] = []
    for folder in ("self", *processes.values()):
        with contextlib.suppress(OSError):  # gone meanwhile
            lines += Path(f"/proc/{folder}/net/unix").read_text("utf-8", "replace").splitlines()
    named = (line.split(maxsplit=7)[-1] for line in lines if line.count(" ") >= 7)
    return frozenset(path for path in named if path.startswith(roots))


def is_open(path: str) -> bool | None:
    """Whether any process has a plain file of ours open, asked of the kernel, because `/proc` shows only what we may see; `None`
    if it is gone, or the file system cannot tell.

    The kernel gives a write lease only if no other process has the file open or mapped (fcntl(2), F_SETLEASE), not even in
    another container, in a thread with files of its own, or in transit on a socket. The lease is given back at once.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:  # EAGAIN: another process holds a lease
        return True if error.errno in LEASED else None
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)  # a process that opens it now waits for us; SIGIO would end us
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return True if error.errno in LEASED else None
    finally:
        os.close(fd)
    return False


def is_heard(path: str) -> bool:
    """Whether a process of any container listens at this Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(path)
        except OSError as error:
            return error.errno in (errno.EAGAIN, errno.EPROTOTYPE)  # its queue is full; it speaks datagrams
    return True
