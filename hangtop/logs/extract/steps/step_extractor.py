"""The steps that the lines of one file tell, in all the ways there are: one line, a row of a table, a few lines below each other,
and, where nothing else tells any, numbers that grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from hangtop.common.late_pattern import compiled
from hangtop.logs.catalog.profile import Profile, Stage
from hangtop.logs.extract.extractor import Extractor, FoundLine, ProgressReader
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.line_sampling import LARGE
from hangtop.logs.extract.line_writers import LineWriters
from hangtop.logs.extract.steps.multiline_steps import MultilineSteps
from hangtop.logs.extract.steps.progress import StepLine, read
from hangtop.logs.extract.steps.step_heuristic import ANY, StepHeuristic
from hangtop.logs.extract.steps.step_tables import StepTables
from hangtop.logs.file_facts import FileFacts, Kind, ProgressSeen
from hangtop.logs.lines.block_lines import Line, Lines, Span

_ROWS, _ROWS_IN_LARGE = 48, 16
"""So many lines at each end of a stretch in which the scan found nothing are read as rows of an open table."""


class Steps(Extractor):
    """Tells each step line to `listeners`, in their order. `training`: the stage that a step proves where no profile knows the
    line."""

    def __init__(
        self,
        ranks: RankTable,
        writers: LineWriters,
        training: tuple[tuple[Profile, Stage], ...],
        listeners: Iterable[Callable[[StepLine], None]],
    ) -> None:
        self._ranks = ranks
        self._writers = writers
        self._training = training
        self._listeners = tuple(listeners)
        self._tables = StepTables()
        self._multiline = MultilineSteps()
        self._heuristic = StepHeuristic()
        self._counted_to = -1
        self._totals: dict[Kind, float] = {}
        self._seen_last: tuple[ProgressReader | None, str, ProgressSeen | None] = (None, "", None)

    def read(self, found: FoundLine) -> None:
        """Reads the line in the words of each profile that knows such lines."""
        self._read_totals(found)
        # A framework may know it as a part of its start (`loading checkpoint … at iteration 12000`): then it is no step.
        is_start = bool(found.markers) and any(
            not (marker.profile.base or marker.stage.steady or marker.stage.recurs) for marker in found.markers
        )
        told: set[str] = set()
        valued = False
        for reader in found.readers.progress:
            names = {profile.name for profile in reader.profiles}
            if names <= told or (is_start and reader.profiles[0].base and reader.progress.counts):
                continue
            if seen := self._seen(reader, found.line):
                told |= names
                for step in self._multiline.counted(seen, reader, found.line, valued=valued):
                    found.is_full_bar = seen.step is not None and seen.step == seen.total
                    self._tell(replace(step, is_full_bar=True) if found.is_full_bar else step)
                valued = valued or bool(seen.metrics)
        if not told:
            self._read_below(found)

    def _seen(self, reader: ProgressReader, line: Line) -> ProgressSeen | None:
        """What the line tells: ranks that reduce their values say the same, one after the other."""
        known, text, seen = self._seen_last
        if known is reader and text == line.text and seen is not None:
            return replace(seen, offset=line.offset, at=line.at, writer=line.writer)
        seen = read(reader.profiles[0], reader.progress, line)
        self._seen_last = (reader, line.text, seen)
        return seen

    def _read_totals(self, found: FoundLine) -> None:
        for reader in found.readers.totals:
            if told := compiled(reader.progress.total_from or "").search(found.line.text):
                self._totals[reader.profiles[0].name, reader.progress.id] = float(told["total"].replace(",", ""))

    def _read_below(self, found: FoundLine) -> None:
        """What is not told by the line alone, but by where it stands."""
        if (row := self._tables.read(found.line, found.readers.tables)) is not None:
            if row.line is not found.line:  # one of its columns says whose row it is
                self._ranks.note_writer(row.line)
                self._writers.note_writer(row.line)
            self._tell(row)
        for step in self._multiline.read(found.line):
            self._tell(step)

    def _tell(self, step: StepLine) -> None:
        if self._writers.may_be_cut(step):
            return
        for listener in self._listeners:
            listener(step)

    def between(self, lines: Lines, begin: int, end: int) -> Iterator[tuple[Span, int]]:
        """The lines in `[begin, end)` of a block, in which the scan found nothing, that may be rows of a table or values of the
        step above: where each stands, and the byte that is of interest."""
        if self._tables.is_open:
            self._tables.ends_before(lines.block.at(begin))
            for span in lines.ends(begin, end, _ROWS if len(lines.block.data) <= LARGE else _ROWS_IN_LARGE):
                yield span, span.start
        elif self._multiline.is_open:
            for index in self._multiline.places(lines.block, begin, end):
                yield lines.span(index), index

    def count(self, newest: Iterable[tuple[Lines, Span]]) -> None:
        """Where nothing else tells a step, the newest lines may by their shape. `newest`: these, the newest first."""
        if not self._training or self._writers.counts_on(besides=ANY.id):
            return
        for line, seen in self._heuristic.read(newest, self._training[0][0].name, self._counted_to):
            self._tell(StepLine(seen, self._training, line))
            self._counted_to = line.offset

    def reopened(self, offset: int) -> None:
        self._heuristic, self._counted_to = StepHeuristic(), -1

    def add_facts(self, facts: FileFacts) -> FileFacts:
        return replace(facts, totals=dict(self._totals))
