"""Answers what one process has and where its threads stand, when a person asks."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from hangtop.probe.context import ProbeContext
from hangtop.probe.source import Source
from hangtop.records.ask import InspectAsk
from hangtop.records.inspection import Inspection
from hangtop.records.nodes import node_of
from hangtop.records.reading import Value
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import ProcessTable

ELSEWHERE = "it runs on another machine: hangtop inspect there tells more"
LINUX_ONLY = "only Linux tells this of another process"


class InspectSource(Source):
    def __init__(self, _: ProbeContext, table: ProcessTable | None = None) -> None:
        self._table = table or open_table()

    def answer(self, ask: InspectAsk, now: float) -> Iterable[Value]:
        """Always one answer."""
        if node_of(ask.pid):
            yield Inspection(ask.ask, ask.pid, ask.start_ticks, now, problem=ELSEWHERE)
            return
        if sys.platform != "linux":
            yield Inspection(ask.ask, ask.pid, ask.start_ticks, now, problem=LINUX_ONLY)
            return
        from hangtop.system.one_process.inspect import Inspector

        yield Inspector(self._table).inspect(ask.ask, ask.pid, ask.start_ticks, now)
