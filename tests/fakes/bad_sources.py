"""Sources that hang, fail, find nothing or have no answer, and a probe that runs one of them under the name of a real one."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

from hangtop.probe import source
from hangtop.probe.context import ProbeContext
from hangtop.probe.source import Absent, SourceError
from hangtop.records.ask import Ask
from hangtop.records.launch import LaunchReading
from hangtop.records.reading import Value

PATIENCE_S = 0.5
"""Of a probe with a source that hangs. One that answers has as long as it takes on a busy machine."""


class Source(source.Source):
    interval_s = 1.0
    deadline_s = 0.1

    def __init__(self, context: ProbeContext) -> None:
        """There is nothing to open."""

    def answer(self, ask: Ask, now: float) -> Iterable[Value]:
        return (LaunchReading(ask.ask, problem="it was asked"),)


class Hanging(Source):
    """Ends no call, or not all of them."""


class Hangs(Hanging):
    def read(self, now: float) -> Iterable[Value]:
        time.sleep(600)
        return ()


class HangsOnAsk(Hanging):
    def answer(self, ask: Ask, now: float) -> Iterable[Value]:
        time.sleep(600)
        return ()


class HangsOpening(Hanging):
    def __init__(self, context: ProbeContext) -> None:
        time.sleep(600)


class Fails(Source):
    def answer(self, ask: Ask, now: float) -> Iterable[Value]:
        raise ZeroDivisionError("a bug")


class FailsOpening(Source):
    def __init__(self, context: ProbeContext) -> None:
        raise SourceError("the driver does not answer: reboot")


class IsAbsent(Source):
    def read(self, now: float) -> Iterable[Value]:
        raise Absent("no RAS port here")


class SaysNothing(Source):
    def answer(self, ask: Ask, now: float) -> Iterable[Value]:
        return ()


def probe_with(kind: type[Source]) -> tuple[str, ...]:
    """The real probe, in which this is the launch source."""
    patience = f"source_runner.PATIENCE_S = {PATIENCE_S}; " if issubclass(kind, Hanging) else ""
    code = (
        f"from hangtop.probe import __main__ as probe, source, source_runner; {patience}"
        f"source.SOURCES['launch'] = '{__name__}:{kind.__name__}'; probe.main()"
    )
    return (sys.executable, "-c", code)
