"""The machine of the run: memory, load, and the disks that may fill up."""

from __future__ import annotations

from msgspec import Struct


class Disk(Struct, frozen=True, omit_defaults=True):
    """A file system that the run writes to. `path`: the folder on it that the run uses. `growth_b_s`: how fast it fills.
    `files_free_part`: of the files (inodes) that it has room for; `None` where it has no such limit."""

    path: str
    size_bytes: int
    free_bytes: int
    growth_b_s: float | None = None
    problem: str | None = None
    files_free_part: float | None = None


class HostReading(Struct, frozen=True, omit_defaults=True, tag="host"):
    """Memory in bytes. `cgroup_…`: the memory limit of the run's control group, and its use without the page cache. `oom_kills`:
    counted by the kernel in that group, else on the whole machine; `oom_at`: unix time when hangtop saw that number rise.
    `memory_stall_percent`, `io_stall_percent`: of the last minute, in which nobody there could work for want of it."""

    cores: int
    load_1m: float | None = None
    memory_bytes: int | None = None
    available_bytes: int | None = None
    cgroup_limit_bytes: int | None = None
    cgroup_used_bytes: int | None = None
    oom_kills: int | None = None
    oom_at: float | None = None
    disks: tuple[Disk, ...] = ()
    memory_stall_percent: float | None = None
    io_stall_percent: float | None = None
    swap_used_bytes: int | None = None
