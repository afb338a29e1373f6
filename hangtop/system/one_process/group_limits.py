"""What the control groups of a process grant it: CPU quota and throttling, tasks, memory.

Version 2: cpu.max, cpu.stat, pids.max (kernel docs, cgroup-v2). Version 1: cpu.cfs_quota_us, cpu.cfs_period_us, cpu.stat,
pids.max (cgroup-v1; sched-bwc). A limit of a group above holds as well: the tightest counts."""

from __future__ import annotations

from pathlib import Path

from hangtop.records.inspection import GroupLimits
from hangtop.system.control_groups import CGROUPS, counts, group_folders, group_paths, whole
from hangtop.system.machine import memory_limit
from hangtop.system.processes.proc_files import read_text

MICRO, NANO = 1e-6, 1e-9


def group_limits(pid: int, root: Path = CGROUPS, proc: Path = Path("/proc")) -> GroupLimits | None:
    """`None` where there are no control groups."""
    text = read_text(proc / str(pid) / "cgroup")
    if not text:
        return None
    cpu, tasks, memory = _there(text, "cpu", root), _there(text, "pids", root), memory_limit(pid, root, proc)
    quotas = {folder: cores for folder in cpu if (cores := _cores(folder)) is not None}
    tightest = min(quotas, key=lambda folder: quotas[folder], default=None)
    stat = counts((tightest or cpu[0]) / "cpu.stat") if cpu else {}
    limited = next((folder for folder in tasks if read_text(folder / "pids.max").isdecimal()), None)
    return GroupLimits(
        path=_shown(text),
        cores=None if tightest is None else quotas[tightest],
        throttled_s=_throttled_s(stat),
        throttled_periods=stat.get("nr_throttled"),
        periods=stat.get("nr_periods"),
        tasks=None if limited is None else whole(limited / "pids.current"),
        most_tasks=None if limited is None else whole(limited / "pids.max"),
        memory_limit_bytes=memory.limit_bytes,
        memory_used_bytes=memory.used_bytes,
        oom_kills=memory.oom_kills,
    )


def _there(text: str, controller: str, root: Path) -> list[Path]:
    return [folder for folder in group_folders(text, controller, root) if folder.is_dir()]


def _shown(text: str) -> str:
    """Its path in version 2, else where its memory is counted."""
    groups = group_paths(text)
    return next((path for name in ("", "memory") if (path := groups.get(name, "/")) != "/"), "/")


def _cores(folder: Path) -> float | None:
    """The quota in cores; `None` without one."""
    quota, _, period = read_text(folder / "cpu.max").partition(" ")
    if not quota:
        quota, period = read_text(folder / "cpu.cfs_quota_us"), read_text(folder / "cpu.cfs_period_us")
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None


def _throttled_s(stat: dict[str, int]) -> float | None:
    """`throttled_usec` in version 2, `throttled_time` in nanoseconds in version 1."""
    if "throttled_usec" in stat:
        return stat["throttled_usec"] * MICRO
    return stat["throttled_time"] * NANO if "throttled_time" in stat else None
