"""The log source: all logs of the run, as one reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from hangtop.probe.log.quick_tail import quick_tail
from hangtop.probe.source import Absent
from hangtop.records.ask import Ask
from hangtop.records.log import LogReading
from hangtop.records.watch_spec import WatchSpec

if TYPE_CHECKING:
    from hangtop.probe.log.run_logs import RunLogs

POLL_S = 0.1


class LogSource:
    """Follows every log of `spec`. Its very first reading is but the last lines as they stand: to load what is known of
    frameworks and messages takes longer than a person likes to wait for the first picture."""

    name = "log"
    deadline_s = 5.0

    def __init__(self, spec: WatchSpec) -> None:
        if not spec.logs:
            raise Absent("no log to watch: hangtop --log FILE")
        self._spec = spec
        self._logs: RunLogs | None = None

    @property
    def interval_s(self) -> float:
        return POLL_S if self._logs is None else self._logs.interval_s

    def read(self, now: float) -> Iterator[LogReading]:
        if self._logs is None:
            yield from quick_tail(self._spec.logs)
            from hangtop.probe.log.run_logs import RunLogs

            self._logs = RunLogs(self._spec)
        yield from self._logs.read(now)

    def answer(self, ask: Ask, now: float) -> Iterable[LogReading]:
        """Nothing: pages of the log come from the page source."""
        return ()

    def close(self) -> None:
        if self._logs is not None:
            self._logs.close()
