"""What dead runs left behind on this node, in shared memory and as locks of data sets: which of it is in use, and what may go.
The rules are those of `hangtop.probe.leftovers.leftover_judge`; their words and names come with the question."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any

from hangtop.probe.nodes.node_side.in_use import InUse
from hangtop.probe.nodes.node_side.proc import link, listed, read

Say = Callable[[dict[str, Any]], None]
Judged = dict[str, Any]
FIRST_IPC = "ipc:[4026531839]"
"""The first IPC namespace of a machine (include/linux/proc_ns.h)."""
MOST = 2_000


def tell_leftovers(ask: dict[str, Any], say: Say) -> None:
    """`found`: what may go; `kept`: [path, why, age] of what bears the name of a leftover and stays."""
    judge = Judge(ask["rules"], ask["older_s"])
    judged = [(path, judge.judge(path, kind)) for path, kind in candidates(ask["rules"])]
    found = [each for _, each in judged if each is not None and "why" not in each]
    kept = [[path, each["why"], each.get("age_s")] for path, each in judged if each is not None and "why" in each]
    say({"leftovers": ask["ask"], "found": found[:MOST], "kept": kept[:MOST]})
    say({"asked": ask["ask"]})


def candidates(rules: dict[str, Any]) -> Iterator[tuple[str, str]]:
    segment = re.compile(rules["segments"])
    for name in sorted(listed("/dev/shm")):
        if segment.match(name):
            yield "/dev/shm/" + name, rules["semaphore"] if name.startswith("sem.") else rules["memory"]
    yield from ((path, rules["lock"]) for path in locks(datasets(), rules["depth"]))


def datasets() -> str:
    """Where the data sets of this user lie, by environment or by default."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    home = os.environ.get("HF_HOME") or os.path.join(cache, "huggingface")
    return os.path.realpath(os.environ.get("HF_DATASETS_CACHE") or os.path.join(home, "datasets"))


def locks(folder: str, depth: int) -> Iterator[str]:
    for name in sorted(listed(folder)):
        path = os.path.join(folder, name)
        if name.endswith(".lock"):
            yield path
        elif depth > 1 and os.path.isdir(path) and not os.path.islink(path):
            yield from locks(path, depth - 1)


class Judge:
    """By what is in use when it is made."""

    def __init__(self, rules: dict[str, Any], older_s: float) -> None:
        self.rules, self.older_s, self.now = rules, older_s, time.time()
        self.in_use = InUse(rules["never_hold"], rules["training"], rules["tracker"])

    def judge(self, path: str, kind: str) -> Judged | None:
        """What would be removed, or `why` it stays; `None` when it is gone or another user's."""
        try:
            about = os.lstat(path)
            if about.st_uid != os.geteuid():
                return None
            if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1:
                return {"why": "it is no plain file, or has a second name"}
            if (why := self.why_used(path, about)) is not None:
                return {"why": why}
            newest = max(about.st_mtime, about.st_ctime)
            if self.now - newest < self.older_s:
                return {"why": "", "age_s": self.now - newest}
            why = why_locked(path) if kind == self.rules["lock"] else self.why_mapped(path, about)
        except FileNotFoundError:
            return None
        except OSError as error:
            return {"why": error.strerror or "cannot be read"}
        if why is not None:
            return {"why": why}
        which = {"device": about.st_dev, "inode": about.st_ino, "uid": about.st_uid, "modified_ns": about.st_mtime_ns}
        return dict(which, path=path, kind=kind, newest_at=newest, allocated_bytes=about.st_blocks * 512)

    def why_used(self, path: str, about: os.stat_result) -> str | None:
        for pid, name in self.in_use.unseen.items():
            return f"pid {pid} ({name}) of ours cannot be looked into: it may hold it"
        if (holder := self.in_use.holder(about.st_ino, os.path.basename(path))) is not None:
            return f"in use by pid {holder}"
        network = self.rules["network"].get(type_of_mount(path))
        if network is not None:
            return f"it lies on {network}: who uses it on another machine cannot be seen"
        return "a process that cannot be seen from here has it open" if is_open(path) else None

    def why_mapped(self, path: str, about: os.stat_result) -> str | None:
        """Shared memory and semaphores are found by name: a living process may know that without having it open."""
        pid, ipc = link("/proc/self/ns/pid"), link("/proc/self/ns/ipc")
        if not pid or not ipc or (ipc == FIRST_IPC and pid != self.rules["first_pids"]):
            return "this container shares it with processes that cannot be seen from here: run hangtop on the machine itself"
        name = os.path.basename(path)
        match = re.match(self.rules["segments"], name)
        maker = match.group("maker") if match is not None else None
        if maker and int(maker) in self.in_use.alive:
            return f"its maker, pid {maker}, lives"
        newest = max(about.st_mtime, about.st_ctime)
        if name.startswith(tuple(self.rules["tracked"])) and any(began < newest for began in self.in_use.trackers.values()):
            return "a live Python program was there when it was made, and may still know its name"
        if about.st_mode & 0o077 and self.in_use.others_unseen:
            return "others may use it, and their processes cannot be looked into"
        return None


def type_of_mount(path: str) -> str:
    """Of the mount on which it lies, as proc_pid_mounts(5) names it."""
    found = ("", "")
    for line in read("/proc/self/mounts").decode("utf-8", "replace").splitlines():
        words = line.split(" ")
        point = words[1].replace("\\040", " ") if len(words) > 2 else ""
        if point and (path + "/").startswith(point.rstrip("/") + "/") and len(point) >= len(found[0]):
            found = (point, words[2])
    return found[1]


def is_open(path: str) -> bool:
    """Whether any process has it open: the kernel gives a write lease only if none has (fcntl(2), F_SETLEASE), of whichever
    container. The lease is given back at once."""
    leased = (errno.EAGAIN, errno.EBUSY)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return error.errno in leased
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)  # a process that opens it now waits for us; SIGIO would end us
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno in leased
    finally:
        os.close(fd)
    return False


def why_locked(path: str) -> str | None:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "it is locked"
    finally:
        os.close(fd)
    return None
