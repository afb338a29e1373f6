"""The writers of one file: their newest progress lines, and the pace by these."""

from __future__ import annotations

from collections import defaultdict, deque

from msgspec import Struct, field
from msgspec.structs import replace

from hangtop.logs.extract.extractor import Extractor
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.stages import StageMarks
from hangtop.logs.extract.steps.pace import LossSpike, PaceMeter
from hangtop.logs.extract.steps.progress import StepLine
from hangtop.logs.file_facts import FileFacts, Kind, PaceFacts, ProgressSeen, WriterFacts
from hangtop.logs.lines.block_lines import Line, Writer

_MANY: Writer = ("actor", "")
"""The writer of a line that Ray prints once for many workers: `[repeated 7x across cluster]`."""
KEPT_OFFSETS = 8
"""Of so many of the newest step lines of each kind the place is known."""


class _Writer(Struct):
    progress: dict[Kind, ProgressSeen] = field(default_factory=dict)
    last_at: float | None = None
    last_offset: int = -1
    lines: int = 0
    facts: WriterFacts | None = None  # as told last, until it writes again


class LineWriters(Extractor):
    """All writers of one file. `loss_spike`: the jump of the loss that begins with the latest step."""

    def __init__(self, ranks: RankTable, stages: StageMarks) -> None:
        self._ranks = ranks
        self._stages = stages
        self.loss_spike: LossSpike | None = None
        self._writers: dict[Writer, _Writer] = defaultdict(_Writer)
        self._paces: dict[Kind, PaceMeter] = defaultdict(PaceMeter)
        self._stood_at: dict[Kind, deque[tuple[int, int]]] = defaultdict(lambda: deque(maxlen=KEPT_OFFSETS))

    def note_writer(self, line: Line) -> None:
        writer = self._writers[line.writer]
        writer.facts = None
        if line.offset > writer.last_offset:
            writer.lines += 1
            writer.last_offset, writer.last_at = line.offset, line.at if line.at is not None else writer.last_at

    def add_step(self, step: StepLine) -> None:
        """A line that Ray prints for many workers is activity, but not the progress of any rank."""
        seen, is_repeated = step.seen, bool(step.line.prefix.repeated)
        kind = (seen.profile, seen.kind)
        self._forget_facts(step.line.writer)  # a step proves a stage of its writer
        writer = self._writers[_MANY if is_repeated else step.line.writer]
        writer.progress[kind], writer.facts = seen, None
        self.loss_spike = None
        if seen.counts:
            meter = self._paces[kind]
            before = meter.lines
            self.loss_spike = meter.add(seen, late=is_repeated)
            self._stood_at[kind].append((seen.offset, max(1, meter.lines - before)))

    def may_be_cut(self, step: StepLine) -> bool:
        """Whether a line without an end stops in a number that was larger before: a program that fills blocks, or was killed,
        leaves `step 3` of `step 35`."""
        if step.line.whole or not step.line.text[-1:].isdigit() or step.line.writer not in self._writers:
            return False
        before = self._writers[step.line.writer].progress.get((step.seen.profile, step.seen.kind))
        return before is not None and (_is_less(step.seen.step, before.step) or _is_less(step.seen.total, before.total))

    def steps(self) -> int:
        """How many lines prove that the run goes on. A line counts once, however many steps it jumps: in a Ray driver's log the
        last lines of workers come after the traceback that ended the run, and lines that stand for many come last."""
        return max((meter.lines for meter in self._paces.values()), default=0)

    def stand_behind(self, offset: int, lines: int) -> bool:
        """Whether so many step lines of one kind stand behind this byte, as `steps` counts them. Some kinds of lines are known
        for steps only later, when the lines at the end of the file are counted: they may stand before what was read sooner."""
        behind = (sum(count for at, count in dict(stood_at).items() if at > offset) for stood_at in self._stood_at.values())
        return max(behind, default=0) >= lines

    def counts_on(self, besides: str) -> bool:
        """Whether any other kind of line tells steps that grow."""
        return any(meter.steps and not meter.coarse for (_, name), meter in self._paces.items() if name != besides)

    def newest_steps(self) -> dict[Writer, int]:
        """The offset of each writer's newest progress line; -1 where it has none."""
        return {
            name: max((seen.offset for seen in writer.progress.values()), default=-1) for name, writer in self._writers.items()
        }

    def add_facts(self, facts: FileFacts) -> FileFacts:
        paces = {
            kind: PaceFacts(meter.pace(), meter.values(), meter.in_rounds, meter.unfinished())
            for kind, meter in self._paces.items()
        }
        return replace(facts, writers=tuple(self._told(name, own) for name, own in self._writers.items()), paces=paces)

    def _forget_facts(self, name: Writer) -> None:
        if (own := self._writers.get(name)) is not None:
            own.facts = None

    def _told(self, name: Writer, own: _Writer) -> WriterFacts:
        rank, told = self._ranks.rank_of(name), own.facts
        if told is None or told.rank != rank:  # its rank may be told by the line of another one
            marks = dict(self._stages.latest.get(name, {}))
            told = own.facts = WriterFacts(name, rank, tuple(own.progress.values()), marks, own.last_at, own.lines)
        return told


def _is_less(now: float | None, before: float | None) -> bool:
    return now is not None and before is not None and now < before
