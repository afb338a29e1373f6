"""Where the time of each step goes, as its trainer prints it: a history of the parts of a step, and of tokens a second."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from hangtop.common.whole_history import WholeHistory
from hangtop.logs.catalog.timing import BELOW_BYTES, TimingLine, timings
from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.steps.progress import StepLine
from hangtop.logs.file_facts import FileFacts, OwnTimes, TimesOfStep, TokenRate
from hangtop.logs.lines.split import Block
from hangtop.records.step_times import Part

SPREAD, WITHIN = 16, 64 << 10
"""So many places of a block are looked at, and so many bytes behind each."""
LATELY = 8
"""The means of a rank are those of about so many of its last steps."""
LEAST_BYTES = 4_096
"""All lines of a smaller block are read."""
LITERALS = (
    *(literal for form in timings().line for literal in form.literal),
    *(literal for rate in timings().rate for literal in rate.literal),
)


class StepTimesRead(Extractor):
    """One history for each form of line: a trainer and the engine below it both tell times, and each is whole for itself."""

    literals = LITERALS

    def __init__(self, ranks: RankTable) -> None:
        self._ranks = ranks
        self._own: dict[str, dict[int, OwnTimes]] = defaultdict(dict)
        self._rows: dict[str, WholeHistory[TimesOfStep]] = defaultdict(WholeHistory)
        self._open: dict[str, TimesOfStep] = {}
        self._rates: WholeHistory[TokenRate] = WholeHistory()
        self._engines: set[str] = set()
        self._step: tuple[int, float | None] = (-1, None)

    def add_step(self, step: StepLine) -> None:
        """The step that the times in this line, or below it, are of."""
        if step.seen.counts:
            self._step = (step.seen.offset, step.seen.step)

    def read(self, found: FoundLine) -> None:
        text = found.line.text
        for form in timings().line:
            if any(literal in text for literal in form.literal):
                self._read_times(form, found, text)
        for rate in timings().rate:
            if any(literal in text for literal in rate.literal) and (tokens_s := rate.tokens_s(text)):
                self._engines.add(rate.id)
                self._rates.add(found.line.offset, TokenRate(found.line.offset, found.line.at, tokens_s))

    def _read_times(self, form: TimingLine, found: FoundLine, text: str) -> None:
        parts, total_s = form.parts_s(text), form.total_s(text)
        if form.below is not None:
            self._add_below(form.below, found.line.offset, parts)
        elif parts or total_s:
            whole_s = sum(parts.values()) if form.whole and total_s is None else total_s
            row = TimesOfStep(found.line.offset, found.line.at, self._step[1], whole_s, parts)
            rank = self._ranks.rank_of(found.line.writer)
            if rank is not None and parts:
                self._own[form.id][rank] = _with_own(self._own[form.id].get(rank), row)
            self._begin(form.id, row)

    def _add_below(self, form: str, offset: int, parts: dict[Part, float]) -> None:
        row = self._open.get(form)
        if row is not None and parts and 0 <= offset - row.offset <= BELOW_BYTES:
            self._open[form] = replace(row, parts={**parts, **row.parts})

    def _begin(self, form: str, row: TimesOfStep) -> None:
        """The row before is complete now. Many ranks may tell of one step: the first counts. A table tells its parts in several
        lines."""
        before = self._open.get(form)
        if before is not None and before.step is not None and before.step == row.step:
            if row.offset - before.offset <= BELOW_BYTES and before.parts.keys().isdisjoint(row.parts):
                self._open[form] = _with(before, row)
            return
        if row.total_s is None:
            row = replace(row, total_s=_since(before, row))
        if before is not None:
            self._keep(form, before)
        self._open[form] = row

    def _keep(self, form: str, row: TimesOfStep) -> None:
        if row.total_s and row.parts:
            self._rows[form].add(row.offset, row)

    def places(self, block: Block, *, is_large: bool) -> list[int]:
        """Byte indexes in lines of a block that tell the times of a step, or tokens a second, at even distances, with those below
        them: of a flood of such lines only the first and last are read, and the run's past is nowhere else. Of a small block
        step lines are read at even distances anyway."""
        data, found = block.data, list[int]()
        for rate in timings().rate if len(data) > LEAST_BYTES else ():
            if rate.id in self._engines or (not is_large and any(literal.encode() in data for literal in rate.literal)):
                found += _evenly(data, block.seen, rate.literal)
        for form in timings().line if is_large else ():
            if form.below is None and form.id in self._open:
                for at in _evenly(data, block.seen, form.total or tuple(form.parts)):
                    found += (at, *_below(form.id, data, at))
        return sorted(set(found))

    def reopened(self, offset: int) -> None:
        self._open = {}

    def add_facts(self, facts: FileFacts) -> FileFacts:
        """With the rows that are complete, and those that are as complete as they will be for now."""
        newest = {form: (row,) for form, row in self._open.items() if row.total_s and row.parts}
        rows = {form: (*self._rows[form].items(), *newest.get(form, ())) for form in (*self._rows, *newest)}
        own = {form: dict(ranks) for form, ranks in self._own.items()}
        return replace(facts, step_times=rows, token_rates=self._rates.items(), own_times=own)


def _evenly(data: bytes, begin: int, texts: Sequence[str]) -> Iterator[int]:
    """The first place of any of these texts behind each of some places."""
    for place in range(begin, len(data), len(data) // SPREAD + 1):
        told = (data.find(text.encode(), place, place + WITHIN) for text in texts)
        if (at := min((at for at in told if at >= 0), default=-1)) >= 0:
            yield at


def _below(form: str, data: bytes, at: int) -> Iterator[int]:
    """Where the lines stand that add to this one."""
    for other in timings().line:
        if other.below == form:
            for literal in other.literal:
                for told in re.finditer(re.escape(literal.encode()), data[at : at + BELOW_BYTES]):
                    yield at + told.start()


def _with(row: TimesOfStep, more: TimesOfStep) -> TimesOfStep:
    """A row with the parts of another line of it."""
    both = [each.total_s for each in (row, more) if each.total_s is not None]
    return replace(row, total_s=sum(both) if both else None, parts={**row.parts, **more.parts})


def _with_own(known: OwnTimes | None, row: TimesOfStep) -> OwnTimes:
    """The means of a rank with one more step: those of all steps at first, then each step fades."""
    if known is None:
        return OwnTimes(row.offset, row.at, 1, row.parts)
    told = known.told + 1
    weight = 1 / min(told, LATELY)
    names = known.parts.keys() | row.parts.keys()
    means = {part: known.parts.get(part, 0.0) * (1 - weight) + row.parts.get(part, 0.0) * weight for part in names}
    return OwnTimes(row.offset, row.at, told, means)


def _since(before: TimesOfStep | None, row: TimesOfStep) -> float | None:
    """Seconds since the step before, where the line before was of that one."""
    if before is None or before.at is None or row.at is None or before.step is None or row.step is None:
        return None
    return row.at - before.at if row.step - before.step == 1 and row.at > before.at else None
