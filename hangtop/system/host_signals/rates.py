"""Counters of the whole machine and of the run's control group, by what they rose since the last look: TCP segments sent
again, pages swapped, heat, CPU quota."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from hangtop.system.one_process.group_limits import group_limits
from hangtop.system.processes.proc_files import read_text

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
LEAST_SEGMENTS = 1_000
"""Of fewer segments a part says nothing."""
CPUS = Path("/sys/devices/system/cpu")


class Rates(Struct, frozen=True, omit_defaults=True):
    """As in `HostSignals`."""

    again_part: float | None = None
    swap_in_b_s: int | None = None
    swap_out_b_s: int | None = None
    throttled: int | None = None
    quota_part: float | None = None
    quota_cores: float | None = None


class RateReader:
    def __init__(self, proc: Path = Path("/proc"), cpus: Path = CPUS) -> None:
        self._proc, self._cpus = proc, cpus
        self._last: tuple[float, dict[str, int]] | None = None
        self._hot_at_first: int | None = None

    def read(self, pid: int | None, now: float) -> Rates:
        """`pid`: a process of the run, whose quota counts."""
        counts = {**_tcp(read_text(self._proc / "net" / "snmp")), **_swapped(read_text(self._proc / "vmstat"))}
        group = group_limits(pid) if pid is not None else None
        if group is not None and group.cores is not None and group.periods is not None:
            counts |= {"periods": group.periods, "throttled": group.throttled_periods or 0}
        hot = _throttled(self._cpus)
        self._hot_at_first = hot if self._hot_at_first is None else self._hot_at_first
        last, self._last = self._last, (now, counts)
        at, before = last or (now, counts)
        rose = {name: max(0, count - before.get(name, count)) for name, count in counts.items()}
        s = now - at
        return Rates(
            again_part=_part(rose, "RetransSegs", "OutSegs", least=LEAST_SEGMENTS),
            swap_in_b_s=round(rose["pswpin"] * PAGE_BYTES / s) if s > 0 and "pswpin" in rose else None,
            swap_out_b_s=round(rose["pswpout"] * PAGE_BYTES / s) if s > 0 and "pswpout" in rose else None,
            throttled=None if hot is None else hot - (self._hot_at_first or 0),
            quota_part=_part(rose, "throttled", "periods", least=1),
            quota_cores=None if group is None else group.cores,
        )


def crowded(allowed: Iterable[tuple[int, str, int]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Processes that may run on the same few cores alone: (pid, the list of its cores, how many these are) -> list and pids,
    where there are more processes than cores."""
    shared: dict[tuple[str, int], list[int]] = {}
    for pid, listed, cores in allowed:
        shared.setdefault((listed, cores), []).append(pid)
    return tuple((listed, tuple(pids)) for (listed, cores), pids in shared.items() if len(pids) > cores)


def _part(rose: dict[str, int], name: str, of: str, *, least: int) -> float | None:
    whole = rose.get(of, 0)
    return round(rose.get(name, 0) / whole, 4) if whole >= least else None


def _tcp(text: str) -> dict[str, int]:
    """/proc/net/snmp: a line of names, then one of values (RFC 4022)."""
    rows = [line.split()[1:] for line in text.splitlines() if line.startswith("Tcp:")]
    if len(rows) < 2:
        return {}
    told = dict(zip(*rows[:2], strict=False))
    return {name: int(told[name]) for name in ("OutSegs", "RetransSegs") if told.get(name, "").isdecimal()}


def _swapped(text: str) -> dict[str, int]:
    """Pages, since boot (proc_vmstat(5))."""
    pairs = (line.split() for line in text.splitlines())
    return {words[0]: int(words[1]) for words in pairs if words[:1] in (["pswpin"], ["pswpout"])}


def _throttled(cpus: Path) -> int | None:
    """How often the processor slowed down for heat, since boot: the most of any package, for each of its cores tells the same."""
    told = (read_text(path) for path in cpus.glob("cpu[0-9]*/thermal_throttle/package_throttle_count"))
    counts = [int(text) for text in told if text.isdecimal()]
    return max(counts, default=None)
