"""How far a process has come in the files that it reads, and in those that it writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from hangtop.records.watched_waits import FileReads
from hangtop.system.processes.proc_files import fields_of, read_proc

MOST_DESCRIPTORS = 128
"""Of one process, 20 µs each; one that has more open is not looked at."""
READS, WRITES = stat.S_IRUSR, stat.S_IWUSR
"""Of the link to a descriptor: for which of both it is open (proc_pid_fd(5))."""


class ReadFile(Struct, frozen=True):
    """A regular file that is open for reading alone, or for writing alone. `at`: the next byte (`pos` of proc_pid_fdinfo(5))."""

    inode: int
    at: int
    size: int
    written: bool = False


def read_files(pid: int) -> dict[str, ReadFile]:
    """By path. Raises `OSError`, if the process may not be read. May wait for a file system that does not answer."""
    listed = os.listdir(f"/proc/{pid}/fd")
    return dict(_read_files(pid, listed)) if len(listed) <= MOST_DESCRIPTORS else {}


def _read_files(pid: int, listed: Sequence[str]) -> Iterator[tuple[str, ReadFile]]:
    for fd in listed:
        path = f"/proc/{pid}/fd/{fd}"
        try:
            link = os.readlink(path)
            way = os.lstat(path).st_mode & (READS | WRITES)
            if not link.startswith("/") or way == READS | WRITES:
                continue
            info = os.stat(path)
            if stat.S_ISREG(info.st_mode):
                at = int(fields_of(read_proc(f"/proc/{pid}/fdinfo/{fd}"))["pos"])
                yield link, ReadFile(info.st_ino, at, info.st_size, written=way == WRITES)
        except (FileNotFoundError, KeyError):  # closed since
            continue


def file_reads(looks: Sequence[dict[str, ReadFile]]) -> tuple[FileReads, ...]:
    """Files that were read on, with something left of them, or written on. One that is read and grows or shrinks is left out: who
    follows it reads whatever another process writes there, without coming nearer to an end."""
    found = []
    for path in dict.fromkeys(path for look in looks for path in look):
        seen = [look[path] for look in looks if path in look]
        ahead = [each.at for each in seen]
        if _is_read(seen) and ahead == sorted(ahead) and ahead[0] < ahead[-1]:
            moved_in = sum(after > before for before, after in pairwise(ahead))
            found.append(FileReads(path, moved_in, ahead[-1] - ahead[0], written=seen[-1].written))
    return tuple(found)


def _is_read(seen: Sequence[ReadFile]) -> bool:
    """Whether it stayed one file, and there is more to be read of it; what is written has no end."""
    if any(each.written for each in seen):
        return len({(each.inode, each.written) for each in seen}) == 1
    return len({(each.inode, each.size) for each in seen}) == 1 and seen[-1].at < seen[-1].size
