"""Who is in the room, what lies about in it, and whose it is."""

from __future__ import annotations

import hashlib
import os
import signal
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from tests.scenarios.ownership.rooms import NEEDED

MARK = b"MATRIX_RUN="
LOOK = b"MATRIX_LOOK="
"""Words of environments: which run (or cluster) a process was started for, and that it is hangtop, asked by a row."""
KEPT = (Path("/tmp"), Path("/dev/shm"))
HASHED_BYTES, CHANGING = 1_000_000, Path("/tmp/ray")
"""Larger files are not read, nor those that Ray writes anew."""
ENV_START = 47
"""The field of `stat` after the name (proc_pid_stat(5)): where the environment begins in memory; 0 where there is no memory."""
ADDRESS_FILE = Path("/tmp/ray/ray_current_cluster")
"""The address that `ray.init()` takes when it is given none: that of the cluster which `ray start` started last."""


class Being(msgspec.Struct, frozen=True):
    """A process as the kernel knows it. `run`: the key it was marked with. `alive`: one of its threads is. `spare`: a worker of
    Ray that has no task, or none yet; its raylet starts and ends such as it likes."""

    pid: int
    ppid: int
    started: int
    uid: int
    alive: bool
    spare: bool
    run: str | None
    looks: bool


def beings() -> dict[int, Being]:
    """All that live, zombies too, by pid."""
    return {being.pid: being for entry in os.scandir("/proc") if entry.name.isdigit() and (being := _being(int(entry.name)))}


def _being(pid: int) -> Being | None:
    """Read through its youngest thread: a process whose first thread has ended is alive, and has its environment there."""
    folder = Path("/proc", str(pid))
    try:
        fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        title = (folder / "cmdline").read_bytes()
        threads = sorted(os.listdir(folder / "task"), key=int)
        words = _environ(folder, threads)
        uid = folder.stat().st_uid
    except (OSError, IndexError):
        return None
    if not words and fields[ENV_START] == "0":
        return None  # it has ended, or is about to become another program
    run = next((word.removeprefix(MARK).decode() for word in words if word.startswith(MARK)), None)
    alive = fields[0] != "Z" or len(threads) > 1
    spare = title.startswith(b"ray::IDLE") or b"default_worker.py" in title or b"setup_worker.py" in title
    return Being(pid, int(fields[1]), int(fields[19]), uid, alive, spare, run, any(word.startswith(LOOK) for word in words))


def _environ(folder: Path, threads: Sequence[str]) -> list[bytes]:
    """As the youngest thread that is still there has it; empty where none is."""
    for thread in reversed(threads):
        with suppress(FileNotFoundError, ProcessLookupError):
            return [word for word in (folder / "task" / thread / "environ").read_bytes().split(b"\0") if word]
    return []


def below(tops: Iterable[int], here: dict[int, Being]) -> set[int]:
    """These and all that descend from them."""
    found = {pid for pid in tops if pid in here}
    while more := {being.pid for being in here.values() if being.ppid in found} - found:
        found |= more
    return found


def own(key: str, here: dict[int, Being], also: Collection[str] = (), but: Collection[int] = ()) -> set[int]:
    """The pids of this run and of the clusters that are its own, `but` what others let run there."""
    marked = {being.pid for being in here.values() if being.run == key or being.run in also}
    return below(marked, here) - below(but, here)


def looking(here: dict[int, Being]) -> set[int]:
    """The pids of hangtop itself, where a row asked it."""
    return below({being.pid for being in here.values() if being.looks}, here)


def end(pids: Iterable[int]) -> None:
    """Kill them. A pid that is reused belongs to the room all the same."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Thing(msgspec.Struct, frozen=True):
    """What lies at a path: of a small file its size and a hash, of all else nothing."""

    size: int = 0
    digest: bytes = b""

    def is_still_at(self, path: Path) -> bool:
        """It begins as it did; a log may have grown."""
        return not self.size or _thing(path, self.size).digest == self.digest


def files(own: Collection[Path] = (), addresses: Collection[str] = ()) -> dict[Path, Thing]:
    """What lies about, outside of homes, of what Python and the project need, and of the run's `own` folders with the links to
    them. Ray's address file is the run's own where it names one of the run's `addresses`."""
    without = {Path("/tmp/home"), *own, *(path.resolve() for path in NEEDED)}
    if ADDRESS_FILE.is_file() and ADDRESS_FILE.read_text().strip() in addresses:
        without.add(ADDRESS_FILE)
    return {path: _thing(path) for top in KEPT for path in _walk(top, frozenset(without))}


def passing(path: Path) -> bool:
    """What comes and goes by itself, also where nobody does anything: a hangtop of others writes down what it sees."""
    told = path.parent.name == "told" and path.parent.parent.name.startswith("hangtop-")
    return told or path.suffix in (".tmp", ".lock", ".swp") or "tmp" in path.name or path.name.startswith("hangtop")


def _walk(folder: Path, without: frozenset[Path]) -> Iterator[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            path = Path(entry.path)
            if path in without or (entry.is_symlink() and path.resolve() in without):
                continue
            yield path
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(path, without)


def _thing(path: Path, size: int | None = None) -> Thing:
    with suppress(OSError):
        known = path.lstat()
        if stat.S_ISREG(known.st_mode) and (size or known.st_size) <= HASHED_BYTES and CHANGING not in path.parents:
            begins = path.read_bytes()[:size]
            return Thing(len(begins), hashlib.blake2b(begins).digest())
    return Thing()
