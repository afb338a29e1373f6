"""One action at a time on a run: everything that a plan touches is locked, from before its first step until the proof.

The locks are byte ranges of one file (fcntl(2)): the kernel releases them when the process ends, however it ends, and tells who
holds one. A range stands for a process of the plan, by pid and start time, or for the output file of the new run. What another
machine may act on as well is claimed besides, on the machine where it is (`hangtop.probe.nodes.node_side.claims`): the processes
of this one here, those of other nodes there, once they are reached.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from hangtop.common.raw_text import bytes_of, to_os
from hangtop.probe.nodes.node_side.claims import Claimed, claim
from hangtop.records.nodes import pid_there
from hangtop.records.plan import NodePart, Plan
from hangtop.system.own_folders import state_folder

FLOCK = struct.Struct("@hhqqi4x")
"""struct flock of Linux on 64 bits: type, whence, start, length, pid."""
BOOT = "/proc/sys/kernel/random/boot_id"
NO_LOCKS = frozenset((errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL))
PROBED = 2**62
"""A byte beyond all that stand for something."""


class HeldError(Exception):
    """Another process works on the same thing. The message is one line."""


@contextlib.contextmanager
def locked(plan: Plan) -> Iterator[None]:
    """Hold a lock on everything that a plan touches. Raises `HeldError` with the holder, `OSError` without a lock file."""
    with contextlib.ExitStack() as held:
        fd = opened(state_folder() / "actions.lock")
        held.callback(os.close, fd)
        for place in sorted({_place(name) for name in names(plan)}):  # the same order everywhere: of two hangtops one gets all
            try:
                fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except (BlockingIOError, PermissionError) as error:
                why = f"{_holder(fd, place)} is at work on this run: wait until it has ended, and look again"
                raise HeldError(why) from error
        try:
            for mine in claim([(target.pid, target.start_ticks) for target in plan.targets]):
                held.callback(mine.close)
        except Claimed as error:
            raise HeldError(str(error)) from error
        yield


def opened(path: Path) -> int:
    """The lock file; where its file system has no locks (Lustre without `flock`, NFS without a lock service), one of this name in
    /tmp. Raises `OSError`."""
    try:
        return _lockable(path)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    folder = Path(f"/tmp/hangtop-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise PermissionError(errno.EACCES, "belongs to another user, and there must be a lock", str(folder))
    return _lockable(folder / path.name)


def _lockable(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.lockf(fd, fcntl.LOCK_SH, 1, PROBED)
        fcntl.lockf(fd, fcntl.LOCK_UN, 1, PROBED)
    except BaseException:
        os.close(fd)
        raise
    return fd


def names(plan: Plan) -> Iterator[bytes]:
    """What is locked: each process that will be signalled, and the output file of a start, by path and by inode; each of the
    machine where it is, until that is booted again: the folder may be one for all machines."""
    for target in plan.targets:
        yield b"%s process %d %d" % (_boot(), target.pid, target.start_ticks)
    for part in plan.elsewhere:
        yield from _names_there(part)
    if plan.start is None:
        return
    log = os.path.realpath(to_os(plan.start.log))
    yield b"%s path %s" % (_boot(), os.fsencode(log))
    with contextlib.suppress(OSError):  # not there yet
        found = os.stat(log)
        yield b"%s file %d %d" % (_boot(), found.st_dev, found.st_ino)


def _names_there(part: NodePart) -> Iterator[bytes]:
    machine = f"{part.known.boot} {part.known.pids}".encode()
    for target in part.targets:
        yield b"%s process %d %d" % (machine, pid_there(target.pid), target.start_ticks)
    if part.start is not None:
        yield b"%s path %s" % (machine, os.fsencode(to_os(part.start.log)))


def _place(name: bytes) -> int:
    """A byte of the file that stands for this name."""
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big") >> 2


def _boot() -> bytes:
    try:
        return Path(BOOT).read_bytes().strip()
    except OSError:  # not Linux: its host name tells it from others that share the folder
        return bytes_of(os.uname().nodename)


def _holder(fd: int, place: int) -> str:
    """The process that holds the lock: by pid, unless it is in another container or on another machine."""
    asked = FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
    try:
        kind, _, _, _, pid = FLOCK.unpack(fcntl.fcntl(fd, fcntl.F_GETLK, asked))
    except (OSError, struct.error):  # laid out differently on this system
        return "another hangtop"
    return f"another hangtop (pid {pid})" if kind != fcntl.F_UNLCK and pid > 0 else "another hangtop"
