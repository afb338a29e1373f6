"""The source "host": the kernel's log, network ports, file servers, and what holds the machine's cores back."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

from hangtop.probe.context import ProbeContext
from hangtop.probe.source import Absent, Source
from hangtop.records.host_signals import HostSignals
from hangtop.records.nodes import node_of
from hangtop.records.process import Process
from hangtop.records.reading import Value
from hangtop.system.guard import Guard
from hangtop.system.host_signals.fabric import FabricReader
from hangtop.system.host_signals.kernel_log import KernelLog
from hangtop.system.host_signals.rates import RateReader, Rates, crowded
from hangtop.system.host_signals.served_mounts import MountReader
from hangtop.system.one_process.placement import placement
from hangtop.system.processes.proc_files import FIRST_PID_NAMESPACE, namespace, status_of

EVERY_S = 10.0
MOST_RANKS = 128
LINUX_ONLY = "only Linux tells this"


class HostSource(Source):
    interval_s = EVERY_S

    def __init__(self, context: ProbeContext) -> None:
        if sys.platform != "linux":
            raise Absent(LINUX_ONLY)
        self._context = context
        self._kernel, self._fabric, self._mounts, self._rates = KernelLog(), FabricReader(), MountReader(), RateReader()
        self._pids_are_ours = namespace("self", "pid") == FIRST_PID_NAMESPACE
        self._guard: Guard[str, Any] = Guard()
        self._told: HostSignals | None = None

    def read(self, now: float) -> Iterable[Value]:
        """When something changed. Each reader has its limit: statistics of a file system may wait for it."""
        ranks = [process for process in self._context.members or () if not node_of(process.pid) and process.role == "rank"]
        pid = ranks[0].pid if ranks else None
        read = self._guard.known(
            {
                "kernel": self._kernel.read,
                "fabric": partial(self._fabric.read, now),
                "mounts": self._mounts.read,
                "rates": partial(self._rates.read, pid, now),
                "pinned": partial(_pinned, ranks[:MOST_RANKS]),
            }
        )
        rates: Rates = read.get("rates") or Rates()
        told = HostSignals(
            kernel=read.get("kernel", ()),
            kernel_unread=self._kernel.unread,
            ports=read.get("fabric", ()),
            mounts=read.get("mounts", ()),
            **{name: getattr(rates, name) for name in Rates.__struct_fields__},
            pids_are_ours=self._pids_are_ours,
            pinned=read.get("pinned", ()),
        )
        if told != self._told:
            self._told = told
            yield told


def _pinned(ranks: Iterable[Process]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    placed = ((rank.pid, placement(status_of(rank.pid))) for rank in ranks)
    return crowded(
        (pid, place.cpus, place.cores) for pid, place in placed if place is not None and place.cores < place.machine_cores
    )
