"""Steps told over several lines, one value in each: `step: 100`, then `loss: 2.31`, as a list or in a box."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.late_pattern import compiled, late_pattern
from hangtop.logs.extract.extractor import ProgressReader
from hangtop.logs.extract.steps.progress import StepLine, is_loss, number
from hangtop.logs.extract.steps.step_tables import name_of
from hangtop.logs.file_facts import Kind, ProgressSeen
from hangtop.logs.lines.block_lines import Line, Writer
from hangtop.logs.lines.split import Block

REACH = 1_024
"""A report is at most this many bytes long."""

_LONGEST = 120
"""A longer line tells its values itself."""

_GROWN = 2
"""A number that grew this often counts steps: settings are printed once, or again with the same value."""

_NO_PROOF = frozenset({"lr", "epoch", "total", "step_s", "step_ms"})
"""Settings hold these as well."""

_VALUE = late_pattern(
    r"""[\s|│┃>*•·-]{0,40}['"]?(?P<key>[^\W\d][\w %/.()@-]{0,60}?)['"]?(?:\s*[:=：|│┃]\s*|\s+)['"]?"""
    r"""(?P<value>[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|[nN]a[nN]|[iI]nf(?:inity)?))(?![\w.%]|:\d)"""
)


class MultilineSteps:
    """The open reports of the writers of one file."""

    def __init__(self) -> None:
        self._open: dict[Writer, _Report] = {}
        self._grown: dict[tuple[Writer, Kind], tuple[float, int]] = {}

    @property
    def is_open(self) -> bool:
        """Whether any line may belong to a report."""
        return bool(self._open)

    def counted(self, seen: ProgressSeen, reader: ProgressReader, line: Line, *, valued: bool) -> list[StepLine]:
        """Takes in a progress line. Returns the steps that count now: a doubtful one only counts when a line below it tells a
        metric. `valued`: another profile has read a metric from the line itself."""
        told = [StepLine(seen, reader.stages, line)]
        proof = seen.metrics.keys() - _NO_PROOF
        if self._open:
            report = self._open.get(line.writer)
            if report is not None and seen.step is None:
                return [*report.proven(line), *told] if proof else told
            self._open.pop(line.writer, None)
        bare = reader.progress.below and not proof and not valued and len(line.text) <= _LONGEST
        return told if not bare or self._begins(seen, reader, line) else []

    def _begins(self, seen: ProgressSeen, reader: ProgressReader, line: Line) -> bool:
        """Whether a step whose values may stand below it counts at once."""
        progress = reader.progress
        doubtful = progress.doubt is not None and compiled(progress.doubt).search(line.text) is not None
        counts = not doubtful or (seen.total is None and self._grows(seen))
        if line.whole:
            self._open[line.writer] = _Report(reader, seen, [text.encode() for text in progress.below], held=not counts)
        return counts

    def _grows(self, seen: ProgressSeen) -> bool:
        key = (seen.writer, (seen.profile, seen.kind))
        step = seen.step or 0.0
        last, times = self._grown.get(key, (step, 0))
        times = times + 1 if step > last else times * (step == last)
        self._grown[key] = (step, times)
        return times >= _GROWN

    def read(self, line: Line) -> list[StepLine]:
        """What a line without a step tells of the step above it. Further lines of one message have no prefix."""
        report = self._open.get(line.writer)
        if report is None and not line.prefix.text and len(self._open) == 1:
            report = next(iter(self._open.values()))
        if report is None or not line.whole or not 0 < line.offset - report.step.offset < REACH:
            return []
        return report.read(line)

    def places(self, block: Block, begin: int, end: int) -> list[int]:
        """The lines in `[begin, end)` of a block that may tell a value: one byte of each, in their order."""
        found: dict[int, int] = {}
        self._open = {name: report for name, report in self._open.items() if report.step.offset + REACH > block.at(begin)}
        for report in self._open.values():
            until = min(end, report.step.offset + REACH - block.offset)
            for text in report.texts:
                place = block.data.find(text, begin, until)
                while place >= 0:
                    found.setdefault(block.data.rfind(b"\n", 0, place), place)
                    place = block.data.find(text, place + 1, until)
        return sorted(found.values())


class _Report(Struct):
    """An open report. `texts`: what its lines hold. `held`: its step does not count yet. `told`: the metrics read so far; one
    that comes again is of evaluation."""

    reader: ProgressReader
    step: ProgressSeen
    texts: list[bytes]
    held: bool
    told: set[str] = set()

    def read(self, line: Line) -> list[StepLine]:
        found = _VALUE.match(line.text)
        if found is None:
            return []
        name = name_of(found["key"])
        plain = self.reader.progress.metrics.get(name) or ("loss" if is_loss(name) else None)
        value = number(found["value"])
        if plain is None or value is None or plain in self.told or (self.held and plain in _NO_PROOF):
            return []
        self.told.add(plain)
        kind = f"{self.step.kind} {plain}"
        below = replace(self.step, kind=kind, offset=line.offset, at=line.at, step=None, total=None, metrics={plain: value})
        return [*self.proven(line), StepLine(below, self.reader.stages, line)]

    def proven(self, line: Line) -> list[StepLine]:
        """The step itself, if it did not count until now."""
        held, self.held = self.held, False
        return [StepLine(self.step, self.reader.stages, line)] if held else []
