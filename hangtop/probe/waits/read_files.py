"""How far a process has come in the files that it reads."""

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


class ReadFile(Struct, frozen=True):
    """A regular file that is open for reading alone. `at`: the next byte to be read (`pos` of proc_pid_fdinfo(5))."""

    inode: int
    at: int
    size: int


def read_files(pid: int) -> dict[str, ReadFile]:
    """By path. Raises `OSError`, if the process may not be read. May wait for a file system that does not answer."""
    listed = os.listdir(f"/proc/{pid}/fd")
    return dict(_read_files(pid, listed)) if len(listed) <= MOST_DESCRIPTORS else {}


def _read_files(pid: int, listed: Sequence[str]) -> Iterator[tuple[str, ReadFile]]:
    for fd in listed:
        path = f"/proc/{pid}/fd/{fd}"
        try:
            link = os.readlink(path)
            if not link.startswith("/") or os.lstat(path).st_mode & 0o600 != 0o400:
                continue
            info = os.stat(path)
            if stat.S_ISREG(info.st_mode):
                yield link, ReadFile(info.st_ino, int(fields_of(read_proc(f"/proc/{pid}/fdinfo/{fd}"))["pos"]), info.st_size)
        except (FileNotFoundError, KeyError):  # closed since
            continue


def file_reads(looks: Sequence[dict[str, ReadFile]]) -> tuple[FileReads, ...]:
    """Files that were read on, with something left of them. One that grows or shrinks is left out: who follows it reads whatever
    another process writes there, without coming nearer to an end."""
    found = []
    for path in dict.fromkeys(path for look in looks for path in look):
        seen = [look[path] for look in looks if path in look]
        whole = len({(each.inode, each.size) for each in seen}) == 1
        ahead = [each.at for each in seen]
        if whole and ahead == sorted(ahead) and ahead[0] < ahead[-1] < seen[-1].size:
            found.append(FileReads(path, sum(after > before for before, after in pairwise(ahead)), ahead[-1] - ahead[0]))
    return tuple(found)
