"""Who writes in one file, and how far each of them is: their newest step lines, and the pace that these tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.loss_spike import LossSpike
from hangtop.logs.extract.pace import PaceMeter
from hangtop.logs.extract.progress import ProgressSeen
from hangtop.logs.extract.stages import StageMark
from hangtop.logs.file_facts import Kind, PaceFacts, WriterFacts
from hangtop.logs.lines.block_lines import Line, Writer

_MANY: Writer = ("actor", "")
"""Who writes a line that Ray prints once for many workers: `[repeated 7x across cluster]`."""


class _Writer(Struct):
    sightings: dict[Kind, ProgressSeen] = field(default_factory=dict)
    last_at: float | None = None
    last_offset: int = -1
    lines: int = 0


class LineWriters:
    """All writers of one file. `totals`: of steps, where another line than the step's own tells them."""

    def __init__(self) -> None:
        self.totals: dict[Kind, float] = {}
        self._writers: dict[Writer, _Writer] = defaultdict(_Writer)
        self._paces: dict[Kind, PaceMeter] = defaultdict(PaceMeter)

    def heard(self, line: Line) -> None:
        """Somebody wrote this line. Lines may come again."""
        writer = self._writers[line.writer]
        if line.offset > writer.last_offset:
            writer.lines += 1
            writer.last_offset, writer.last_at = line.offset, line.at if line.at is not None else writer.last_at

    def saw(self, sighting: ProgressSeen, line: Line) -> LossSpike | None:
        """A progress line; the jump of the loss, where one begins. A line that stands for those of many workers is activity, but
        of no rank in particular the progress."""
        kind = (sighting.profile, sighting.kind)
        self._writers[_MANY if line.prefix.repeated else line.writer].sightings[kind] = sighting
        return self._paces[kind].saw(sighting, late=bool(line.prefix.repeated)) if sighting.counts else None

    def steps(self) -> int:
        """Lines that prove that the run goes on. One line is one proof, whatever it leaps over: in a driver's log of Ray the last
        lines of workers come after the traceback that ended the run, those that stand for many last of all."""
        return max((meter.lines for meter in self._paces.values()), default=0)

    def counts_on(self, besides: str) -> bool:
        """Whether steps were told that grow, but for those of this kind."""
        return any(meter.steps and not meter.coarse for (_, name), meter in self._paces.items() if name != besides)

    def newest_steps(self) -> dict[Writer, int]:
        """The offset of each writer's newest progress line; -1 where it has none."""
        return {
            name: max((each.offset for each in writer.sightings.values()), default=-1) for name, writer in self._writers.items()
        }

    def paces(self) -> dict[Kind, PaceFacts]:
        return {kind: PaceFacts(meter.pace(), meter.values()) for kind, meter in self._paces.items()}

    def all(self, ranks: RankTable, marks: Mapping[Writer, Mapping[str, StageMark]]) -> Iterator[WriterFacts]:
        """What is known of each. `marks`: the newest stage mark of each writer, by profile."""
        for name, writer in self._writers.items():
            rank, seen = ranks.rank_of(name), dict(marks.get(name, {}))
            yield WriterFacts(name, rank, tuple(writer.sightings.values()), seen, writer.last_at, writer.lines)
