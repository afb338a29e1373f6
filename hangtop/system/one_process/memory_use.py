"""What a process has in memory. `smaps` would tell more, and walks through all its pages: seconds for a rank of 100 GB, in which
its own `mmap` calls wait (proc_pid_smaps(5)); `status` and `maps` cost nothing."""

from __future__ import annotations

from collections.abc import Mapping

from hangtop.common.clean_text import clean_text
from hangtop.records.inspection import MappedFile, MemoryUse
from hangtop.system.processes.proc_files import read_proc

MOST_FILES = 400
KILO = 1024


def memory_use(status: Mapping[str, str]) -> MemoryUse:
    """From the lines of `/proc/PID/status`."""

    def told(name: str) -> int | None:
        words = status.get(name, "").split()
        return int(words[0]) * KILO if words and words[0].isdecimal() else None

    names = ("VmSize", "VmPeak", "VmRSS", "RssAnon", "RssFile", "RssShmem", "VmSwap", "VmLck")
    return MemoryUse(*map(told, names))


def mapped_files(pid: int) -> tuple[MappedFile, ...]:
    """The largest first. Raises `OSError`."""
    return parse_maps(read_proc(f"/proc/{pid}/maps").decode("utf-8", "surrogateescape"))[:MOST_FILES]


def parse_maps(text: str) -> tuple[MappedFile, ...]:
    """Of `/proc/PID/maps`: a file is mapped in several parts (proc_pid_maps(5))."""
    sizes: dict[str, int] = {}
    writable: set[str] = set()
    for line in text.splitlines():
        addresses, permissions, _, _, inode, *rest = line.split(None, 5)
        if inode == "0" or not rest:
            continue
        begin, _, end = addresses.partition("-")
        sizes[rest[0]] = sizes.get(rest[0], 0) + int(end, 16) - int(begin, 16)
        if "w" in permissions and permissions.endswith("s"):
            writable.add(rest[0])
    files = (
        MappedFile(clean_text(path.removesuffix(" (deleted)")), size, path in writable, path.endswith(" (deleted)"))
        for path, size in sizes.items()
    )
    return tuple(sorted(files, key=lambda file: -file.size_bytes))
