"""The machine beside the run: memory and its limit, out-of-memory kills, load, disks that fill."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.host import Disk, HostReading
from hangtop.system.control_groups import CGROUPS, counts, group_folders, whole
from hangtop.system.guard import Guard
from hangtop.system.pressure import stalled_percent
from hangtop.system.processes.proc_files import read_text

MEMINFO = Path("/proc/meminfo")
NO_LIMIT = 1 << 60
"""cgroup v1 says "no limit" by a number near 2^63."""
GROWTH_OVER_S = 30.0
SILENT_S = 10.0
"""A file server that does not answer for this long is said to be silent."""

CACHE = ("total_inactive_file", "total_active_file"), ("inactive_file", "active_file")
"""Names of the page cache in memory.stat, of cgroup versions 1 and 2. The kernel drops it before it kills a process, and reading
data fills every limit with it (kubelet and docker leave out its inactive half)."""


class GroupMemory(Struct, frozen=True):
    """The control group that will be full first. `oom_kills`: in it and in the groups between it and the process."""

    group: str | None = None
    limit_bytes: int | None = None
    used_bytes: int | None = None
    oom_kills: int | None = None


class MachineReader:
    """Reads the machine. Disks are read through a guard, because statvfs waits for a dead file server."""

    def __init__(self) -> None:
        self._disks: Guard[str, DiskSpace] = Guard()
        self._silent: dict[str, float] = {}
        self._free: dict[tuple[str, int, int], tuple[float, int]] = {}
        self._kills: dict[str | None, int] = {}
        self._oom_at: float | None = None

    def read(self, pid: int | None, paths: Iterable[str], now: float) -> HostReading:
        """`pid`: a process of the run, with its limits and file systems. `paths`: whose disks are read. `now`: unix time."""
        total, available = memory_bytes()
        group = memory_limit(pid) if pid is not None else GroupMemory()
        kills = counts(Path("/proc/vmstat")).get("oom_kill") if group.oom_kills is None else group.oom_kills
        if kills is not None:
            scope = None if group.oom_kills is None else group.group
            if kills > self._kills.setdefault(scope, kills):
                self._oom_at = now
            self._kills[scope] = kills
        return HostReading(
            cores=os.cpu_count() or 1,
            load_1m=round(os.getloadavg()[0], 2),
            memory_bytes=total,
            available_bytes=available,
            cgroup_limit_bytes=group.limit_bytes,
            cgroup_used_bytes=group.used_bytes,
            oom_kills=kills,
            oom_at=self._oom_at,
            disks=tuple(self._disk_space(pid, paths, now)),
            memory_stall_percent=stalled_percent("memory", group.group),
            io_stall_percent=stalled_percent("io", group.group),
            swap_used_bytes=_swap_used_bytes(),
        )

    def _disk_space(self, pid: int | None, paths: Iterable[str], now: float) -> Iterable[Disk]:
        """Each file system once, by the first of the paths on it."""
        wanted = list(dict.fromkeys(paths))
        answers = self._disks.ask({path: partial(_space, pid, path) for path in wanted})
        known: set[int] = set()
        self._silent = {path: since for path, since in self._silent.items() if path not in answers}
        for path in wanted:
            answer = answers.get(path)
            if isinstance(answer, DiskSpace) and answer.number not in known:
                known |= {answer.number} - {0}
                growth_b_s = self._growth(path, answer, now)
                yield Disk(path, answer.size_bytes, answer.free_bytes, growth_b_s, files_free_part=answer.files_free_part)
            elif answer is None and now - self._silent.setdefault(path, now) >= SILENT_S:
                yield Disk(path, 0, 0, problem="the file system does not answer")

    def _growth(self, path: str, space: DiskSpace, now: float) -> float | None:
        """By how many bytes a second it fills, over at most half a minute. Another file system starts over."""
        key, free = (path, space.number, space.size_bytes), space.free_bytes
        at, before = self._free.setdefault(key, (now, free))
        if now - at >= GROWTH_OVER_S:
            self._free[key] = (now, free)
        return None if now <= at else round((before - free) / (now - at), 1)


def memory_limit(pid: int, root: Path = CGROUPS, proc: Path = Path("/proc")) -> GroupMemory:
    """The control group of this process, or one above, with the least memory left; its own one if none has a limit.

    Version 2: memory.max, memory.current, memory.events. Version 1: memory.limit_in_bytes … (kernel docs, cgroup-v1/memory).
    """
    groups = _groups(pid, root, proc)
    if not groups:
        return GroupMemory()
    limited = {place: g.limit_bytes - (g.used_bytes or 0) for place, g in enumerate(groups) if g.limit_bytes is not None}
    tightest = min(limited, default=0, key=lambda place: limited[place])
    kills = [group.oom_kills for group in groups[: tightest + 1] if group.oom_kills is not None]
    return replace(groups[tightest], oom_kills=max(kills, default=None))


def _groups(pid: int, root: Path, proc: Path) -> list[GroupMemory]:
    """The process's memory group and those above it."""
    text = read_text(proc / str(pid) / "cgroup")
    for controller in ("memory", ""):
        if groups := [group for path in group_folders(text, controller, root) if (group := _group(path)) is not None]:
            return groups
    return []


def _group(group: Path) -> GroupMemory | None:
    """`None` where it is no memory group, or not to be read."""
    limit = whole(group / "memory.limit_in_bytes")
    version_1 = limit is not None
    if version_1:
        used, kills = whole(group / "memory.usage_in_bytes"), counts(group / "memory.oom_control").get("oom_kill")
    else:
        limit, used = whole(group / "memory.max"), whole(group / "memory.current")
        kills = counts(group / "memory.events").get("oom_kill")
    if limit is used is kills is None:
        return None
    if used is not None:
        names, told = CACHE[0] if version_1 else CACHE[1], counts(group / "memory.stat")
        used = max(0, used - sum(told.get(name, 0) for name in names))
    return GroupMemory(str(group), None if limit is None or limit >= NO_LIMIT else limit, used, kills)


def memory_bytes() -> tuple[int, int]:
    """The memory of this machine, and how much of it programs can still get."""
    told = _meminfo()
    if (total := told.get("MemTotal:")) and (available := told.get("MemAvailable:")) is not None:
        return total, available
    import psutil  # macOS, and kernels before 3.14

    memory = psutil.virtual_memory()
    return memory.total, memory.available


def _swap_used_bytes() -> int | None:
    told = _meminfo()
    total, free = told.get("SwapTotal:"), told.get("SwapFree:")
    return None if total is None or free is None else total - free


def _meminfo() -> dict[str, int]:
    """Bytes by name (proc_meminfo(5)); nothing where there is no /proc."""
    lines = (line.split() for line in read_text(MEMINFO).splitlines())
    return {words[0]: int(words[1]) << 10 for words in lines if len(words) == 3}


class DiskSpace(Struct, frozen=True):
    """Size and free bytes of a file system, with its id from statvfs(3), which is 0 for some. `files_free_part`: as in `Disk`; a
    file system that makes inodes as it needs them tells of none."""

    number: int
    size_bytes: int
    free_bytes: int
    files_free_part: float | None = None


def _space(pid: int | None, path: str) -> DiskSpace:
    """As this process sees the path (a container has its own `/dev/shm`); without permission, as we see it."""
    try:
        space = os.statvfs(path if pid is None else f"/proc/{pid}/root{path}")
    except OSError:
        space = os.statvfs(path)
    files = space.f_favail / space.f_files if space.f_files else None
    return DiskSpace(space.f_fsid, space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize, files)
