"""On which cores a process may run, and of which NUMA nodes these are (cpuset(7), numa(7))."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from hangtop.records.inspection import Placement
from hangtop.system.processes.proc_files import read_text

NODES = Path("/sys/devices/system/node")


def placement(status: Mapping[str, str], nodes: Path = NODES) -> Placement | None:
    """From the lines of `/proc/PID/status`; `None` where it does not tell."""
    listed = status.get("Cpus_allowed_list", "")
    if not listed:
        return None
    cpus = numbers(listed)
    of_cpus = tuple(
        sorted(
            int(folder.name.removeprefix("node"))
            for folder in nodes.glob("node[0-9]*")
            if cpus & numbers(read_text(folder / "cpulist"))
        )
    )
    return Placement(listed, len(cpus), os.cpu_count() or len(cpus), of_cpus, status.get("Mems_allowed_list", ""))


def numbers(listed: str) -> frozenset[int]:
    """The numbers of a list of the kernel: `0-3,8` (cpuset(7), "List format")."""
    found: set[int] = set()
    for part in filter(None, listed.split(",")):
        first, _, last = part.partition("-")
        if first.strip().isdecimal():
            found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)
