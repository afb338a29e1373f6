"""The machine beside the run: memory, load, and the disks that may be filling."""

from __future__ import annotations

from msgspec import Struct


class Disk(Struct, frozen=True, omit_defaults=True):
    """A file system that the run writes to, by the path that is of interest on it. `growth_b_s`: how fast it fills."""

    path: str
    size_bytes: int
    free_bytes: int
    growth_b_s: float | None = None
    problem: str | None = None


class HostReading(Struct, frozen=True, omit_defaults=True, tag="host"):
    """Memory in bytes. `cgroup_…`: the limit that the run itself lives under, and what is used below it, files that are only
    cached left out. `oom_kills`: counted by the kernel in the run's control group, else on the whole machine; `oom_at`: unix time
    when that number was seen to rise."""

    cores: int
    load_1m: float | None = None
    memory_bytes: int | None = None
    available_bytes: int | None = None
    cgroup_limit_bytes: int | None = None
    cgroup_used_bytes: int | None = None
    oom_kills: int | None = None
    oom_at: float | None = None
    disks: tuple[Disk, ...] = ()
