"""The machine beside the run: memory and its limit, out-of-memory kills, load, disks that fill."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import psutil

from hangtop.records.host import Disk, HostReading
from hangtop.sources.proc.guard import Guard
from hangtop.sources.proc.linux import read_optional

CGROUPS = Path("/sys/fs/cgroup")
NO_LIMIT = 1 << 60
"""cgroup v1 says "no limit" by a number near 2^63."""
GROWTH_OVER_S = 30.0

Memory = tuple[int | None, int | None, int | None]
"""Of a control group: limit and use in bytes, and the number of out-of-memory kills."""
UNKNOWN: Memory = (None, None, None)


class Host:
    """Looks at the machine. The disks are asked through a guard: statvfs waits for a dead file server."""

    def __init__(self) -> None:
        self._disks: Guard[str, tuple[int, int]] = Guard()
        self._free: dict[str, tuple[float, int]] = {}
        self._kills: int | None = None
        self._oom_at: float | None = None

    def look(self, pid: int | None, paths: Iterable[str], now: float) -> HostReading:
        """`pid`: a process of the run, whose limit counts. `paths`: on the file systems of interest. `now`: unix time."""
        memory = psutil.virtual_memory()
        limit, used, kills = memory_limit(pid) if pid is not None else UNKNOWN
        kills = _kills_of_machine() if kills is None else kills
        if kills is not None and self._kills is not None and kills > self._kills:
            self._oom_at = now
        self._kills = kills
        return HostReading(
            cores=os.cpu_count() or 1,
            load_1m=round(os.getloadavg()[0], 2),
            memory_bytes=memory.total,
            available_bytes=memory.available,
            cgroup_limit_bytes=limit,
            cgroup_used_bytes=used,
            oom_kills=kills,
            oom_at=self._oom_at,
            disks=tuple(self._look_at_disks(paths, now)),
        )

    def _look_at_disks(self, paths: Iterable[str], now: float) -> Iterable[Disk]:
        wanted = list(dict.fromkeys(paths))
        answers = self._disks.ask({path: partial(_space, path) for path in wanted})
        for path in wanted:
            answer = answers.get(path)
            if isinstance(answer, tuple):
                size, free = answer
                yield Disk(path, size, free, self._growth(path, free, now))
            elif answer is None:
                yield Disk(path, 0, 0, problem="the file system does not answer")

    def _growth(self, path: str, free: int, now: float) -> float | None:
        """Bytes a second that it filled by, over at least a look and at most half a minute."""
        at, before = self._free.setdefault(path, (now, free))
        if now - at >= GROWTH_OVER_S:
            self._free[path] = (now, free)
        return None if now <= at else round((before - free) / (now - at), 1)


def memory_limit(pid: int, root: Path = CGROUPS, proc: Path = Path("/proc")) -> Memory:
    """Of the tightest control group that this process is in.

    Version 2: memory.max, memory.current, memory.events. Version 1: memory.limit_in_bytes … (kernel docs, cgroup-v1/memory).
    """
    groups = _groups(pid, root, proc)
    limited = [(limit, used) for limit, used, _ in groups if limit is not None]
    limit, used = min(limited, default=(None, None), key=lambda pair: pair[0] or NO_LIMIT)
    return limit, used, max((kills for _, _, kills in groups if kills is not None), default=None)


def _groups(pid: int, root: Path, proc: Path) -> list[Memory]:
    """The process's memory group and those above it."""
    lines = [line.split(":", 2) for line in (_text(proc / str(pid) / "cgroup") or "").splitlines()]
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if controllers == "" or "memory" in controllers.split(","):
            base = root / "memory" if controllers else root / "unified" if (root / "unified").is_dir() else root
            own = base / path.lstrip("/")
            chain = [own, *own.parents]
            chain = chain[: chain.index(base) + 1] if base in chain else [base]
            groups = [_group(group) for group in chain]
            if any(group != UNKNOWN for group in groups):
                return groups
    return []


def _group(group: Path) -> Memory:
    limit = _integer(group / "memory.limit_in_bytes")
    if limit is not None:
        used, kills = _integer(group / "memory.usage_in_bytes"), _field(group / "memory.oom_control", "oom_kill")
    else:
        limit, used = _integer(group / "memory.max"), _integer(group / "memory.current")
        kills = _field(group / "memory.events", "oom_kill")
    return (None if limit is None or limit >= NO_LIMIT else limit), used, kills


def _kills_of_machine() -> int | None:
    return _field(Path("/proc/vmstat"), "oom_kill")


def _field(path: Path, name: str) -> int | None:
    for line in (_text(path) or "").splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == name:
            return int(words[1])
    return None


def _integer(path: Path) -> int | None:
    text = (_text(path) or "").strip()
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str | None:
    try:
        text = read_optional(str(path))
    except OSError:  # the process has ended, or there is no such file system: then it is not known
        return None
    return None if text is None else text.decode("utf-8", "replace")


def _space(path: str) -> tuple[int, int]:
    space = os.statvfs(path)
    return space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize
