"""The GPU source: asks the makers it knows in turn, and says what is here of those it does not know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from hangtop.probe.gpu.node import NvmlNode
from hangtop.probe.gpu.other_makers import others_here
from hangtop.probe.source import Absent, SourceError
from hangtop.records.ask import Ask
from hangtop.records.gpu import GpuReading
from hangtop.records.health import NO_ANSWER_S
from hangtop.records.reading import Value
from hangtop.records.watch_spec import WatchSpec


class Maker(Protocol):
    """The GPUs of one maker on this node. Another maker is added by one such class and its name in `MAKERS`."""

    def look(self, now: float) -> GpuReading:
        """What is known now. Never waits for a driver more than a moment. Raises `Absent` or `SourceError`."""
        ...


MAKERS: tuple[type[Maker], ...] = (NvmlNode,)


class GpuSource:
    """One reading a second. A driver that hangs shows in the reading; that all of it hangs is also this source's trouble."""

    name = "gpu"
    interval_s = 1.0
    deadline_s = 3.0

    def __init__(self, spec: WatchSpec) -> None:
        self._makers = tuple(maker() for maker in MAKERS)

    def read(self, now: float) -> Iterator[Value]:
        """Of the first maker that is here. Raises `Absent` when none is."""
        missing: list[str] = []
        for maker in self._makers:
            try:
                reading = maker.look(now)
            except Absent as absent:
                missing.append(str(absent))
                continue
            yield reading
            if reading.stuck_since is not None and now - reading.stuck_since > NO_ANSWER_S:
                raise SourceError(_stuck(reading))
            return
        raise Absent("; ".join((*missing, *others_here())))

    def answer(self, ask: Ask, now: float) -> Iterable[Value]:
        return ()


def _stuck(reading: GpuReading) -> str:
    """Without an age: the health of the source carries that."""
    where = f"{reading.stuck_in} has not returned" if reading.stuck_in else "no GPU answers"
    return f"the {reading.vendor} driver does not answer ({where}): look at dmesg for Xid or NVRM lines; a reboot may be needed"
