"""The log source: all logs of the run, as one reading."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hangtop.probe.context import ProbeContext
from hangtop.probe.log.quick_tail import quick_tail
from hangtop.probe.source import Absent, Source
from hangtop.records.log import LogReading

if TYPE_CHECKING:
    from hangtop.probe.log.run_logs import RunLogs

POLL_S = 0.1


class LogSource(Source):
    """Follows every log. Its first reading is only the last lines as they stand, because loading what is known of frameworks and
    messages takes longer than a person likes to wait for the first picture."""

    def __init__(self, context: ProbeContext) -> None:
        if not context.spec.logs:
            raise Absent("no log to watch: hangtop --log FILE")
        self._context = context
        self._logs: RunLogs | None = None

    @property
    def interval_s(self) -> float:
        return POLL_S if self._logs is None else self._logs.interval_s

    def read(self, now: float) -> Iterator[LogReading]:
        if self._logs is None:
            yield from quick_tail(self._context.spec.logs)
            from hangtop.probe.log.run_logs import RunLogs

            self._logs = RunLogs(self._context)
        yield from self._logs.read(now)

    def close(self) -> None:
        if self._logs is not None:
            self._logs.close()
