"""The GPU source: reads the makers that it knows in turn, and names accelerators of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from hangtop.probe.context import ProbeContext
from hangtop.probe.gpu.node import NvmlNode
from hangtop.probe.gpu.other_makers import others_here
from hangtop.probe.source import Absent, Source, SourceError
from hangtop.records.gpu import GpuReading
from hangtop.records.health import NO_ANSWER_S
from hangtop.records.reading import Value


class Maker(Protocol):
    """The GPUs of one maker on this node. To add a maker, write such a class and name it in `MAKERS`."""

    def read(self, now: float) -> GpuReading:
        """The GPUs now. Never waits long for a driver. Raises `Absent` or `SourceError`."""
        ...


MAKERS: tuple[type[Maker], ...] = (NvmlNode,)


class GpuSource(Source):
    """One reading a second. A driver that hangs shows in the reading; if all of it hangs, the source has failed too."""

    interval_s = 1.0
    deadline_s = 3.0

    def __init__(self, context: ProbeContext) -> None:
        self._makers = tuple(maker() for maker in MAKERS)

    def read(self, now: float) -> Iterator[Value]:
        """The first maker that is here. Raises `Absent` when none is."""
        missing: list[str] = []
        for maker in self._makers:
            try:
                reading = maker.read(now)
            except Absent as absent:
                missing.append(str(absent))
                continue
            yield reading
            if reading.stuck_since is not None and now - reading.stuck_since > NO_ANSWER_S:
                raise SourceError(_stuck(reading))
            return
        raise Absent("; ".join((*missing, *others_here())))


def _stuck(reading: GpuReading) -> str:
    """Without an age: the health of the source has it."""
    where = f"{reading.stuck_in} has not returned" if reading.stuck_in else "no GPU answers"
    return f"the {reading.vendor} driver does not answer ({where}): look at dmesg for Xid or NVRM lines; a reboot may be needed"
