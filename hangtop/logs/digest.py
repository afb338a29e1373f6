"""One log file, digested: bytes in as they come, facts out. The same facts however the bytes were cut."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from operator import itemgetter

from hangtop.common.clean_text import clean_text
from hangtop.logs.catalog.load import Catalog
from hangtop.logs.catalog.profile import Profile, Stage
from hangtop.logs.catalog.signature import compiled
from hangtop.logs.extract.framework_votes import Frameworks
from hangtop.logs.extract.layout_sizes import LayoutSizes
from hangtop.logs.extract.line_kind import shown_line
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.line_sampling import LARGE, pick
from hangtop.logs.extract.line_writers import LineWriters
from hangtop.logs.extract.literal_index import LineReaders, LiteralIndex
from hangtop.logs.extract.longest_gap import longest_gap_s
from hangtop.logs.extract.messages import Messages
from hangtop.logs.extract.model_output import ModelOutput
from hangtop.logs.extract.multiline_steps import MultilineSteps
from hangtop.logs.extract.notices import Notices
from hangtop.logs.extract.progress import ProgressSeen, read
from hangtop.logs.extract.ray_sessions_named import RayNames
from hangtop.logs.extract.repeated_literals import RepeatedLiterals
from hangtop.logs.extract.stages import StageMarks
from hangtop.logs.extract.step_heuristic import ANY, StepHeuristic
from hangtop.logs.extract.step_tables import StepTables
from hangtop.logs.extract.tail_buffer import TailBuffer
from hangtop.logs.extract.unstamped_lines import UnstampedLines
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Line, Lines, Span, Writer, unglued
from hangtop.logs.lines.carriage_return_bars import find_folded
from hangtop.logs.lines.literal_scan import Hit
from hangtop.logs.lines.split import Block, Blocks
from hangtop.logs.lines.timestamps import LogClock
from hangtop.records.log import LogLine

_JUMP = "num.loss_jump"
_NOT_FINITE = {"loss": "num.loss_nan", "grad_norm": "num.grad_nan"}

_CROWD = 4_096  # one hit in so many bytes: then it pays to leave out literals that have no more to say
_ROWS, _ROWS_IN_LARGE = 48, 16  # lines that are read at each end of a stretch without hits, while a table is open
_WALKS = 2  # times in a block that the lines between two others are looked at


class Digest:
    """Everything known of one file of a run. `index` (or a catalog) is shared between files and only read.

    `clock_shift_s`: what to add to the log's own clock to get unix time. `rank`: the rank that the file's name gives.
    `offset`: where in the file the first byte stands that is fed, a line start. `year`: of dates that are written without one.
    `written_by`: when the last byte of what was there before we came was written.
    """

    def __init__(
        self,
        catalog: Catalog | LiteralIndex,
        file: int,
        *,
        clock_shift_s: float | None = None,
        rank: int | None = None,
        offset: int = 0,
        year: int | None = None,
        written_by: float | None = None,
    ) -> None:
        self._index = catalog if isinstance(catalog, LiteralIndex) else LiteralIndex(catalog)
        self._file = file
        self._blocks = Blocks(offset)
        self._clock = LogClock(clock_shift_s, year, written_by)
        self._neighbours = UnstampedLines(self._clock)
        self._history_end = offset
        self._free = ModelOutput()
        self._frameworks = Frameworks(self._index.catalog.profiles)
        self._marks = StageMarks()
        self._writers = LineWriters()
        self._messages = self._new_messages()
        self._asides: dict[Writer, Messages] = {}
        self._notices = Notices()
        self._tables = StepTables()
        self._reports = MultilineSteps()
        self._counters = StepHeuristic()
        self._ranks = RankTable(rank)
        self._mesh = LayoutSizes()
        self._ray = RayNames()
        self._recent = TailBuffer(self._clock)
        self._left_out: frozenset[int] = frozenset()
        self._detected: tuple[int, frozenset[int]] = (0, frozenset())
        self._floods = RepeatedLiterals(self._index)
        self._swept = self._counted = -1
        self._heard: tuple[int, float] | None = None
        self._walks = 0
        self.bytes = 0

    @property
    def last_log_time(self) -> float | None:
        """The clock time of the newest line that has one, as it stands there, as if it were UTC."""
        return self._clock.last_log_time

    @property
    def tells_zone(self) -> bool:
        """Whether the times in the log are those of a known zone."""
        return self._clock.zoned

    def feed(self, data: bytes, at: float | None = None, since: float | None = None) -> None:
        """More bytes of the file. `at`: unix time of their arrival, `None` while older parts are read. `since`: when they were
        not there yet."""
        self.bytes += len(data)
        self._history_end += len(data) if at is None else 0
        self._clock.arrived(at if data else None, since)
        for block in self._blocks.feed(data):
            self._digest(block)

    def reopened(self, offset: int = 0) -> None:
        """The file begins anew (rotated or truncated), or what stood before this line start is lost, but the run goes on: what is
        known stays."""
        self._flush()
        self._blocks = Blocks(offset)
        self._recent, self._swept = TailBuffer(self._clock), -1
        self._counters, self._counted = StepHeuristic(), -1
        self._ray.reopened()
        self._neighbours.reopened()
        self._history_end = max(self._history_end, offset)

    def facts(self) -> FileFacts:
        """All that is known now."""
        self._flush()
        self._sweep()
        self._count()
        newest = self._writers.newest_steps()
        findings = self._messages.findings(self._ranks, self._file, newest, self._asides.values())
        marks = self._marks.all()
        wanted = {finding.offset for finding in findings} | {mark.offset for mark in marks}
        return FileFacts(
            file=self._file,
            bytes=self.bytes,
            rank=self._ranks.file_rank,
            scores=self._frameworks.scores(),
            marks=marks,
            findings=findings,
            times=self._neighbours.all(wanted, self._history_end),
            writers=tuple(self._writers.all(self._ranks, self._marks.latest)),
            paces=self._writers.paces(),
            totals=dict(self._writers.totals),
            ranks=self._ranks.all(),
            world=self._ranks.world,
            meshes=self._mesh.all(),
            workers=self._notices.workers,
            announced_until=self._notices.announced_until(),
            undated_wait_s=self._notices.undated_wait_s(self.bytes),
            checkpoint_dir=self._notices.checkpoint_dir,
            longest_silence_s=self._clock.longest_silence_s,
            last_line=self._last_line(),
            ray=self._ray.said(),
        )

    def tail(self, count: int, since: int = -1) -> tuple[LogLine, ...]:
        """The newest lines, oldest first, as they may be shown; only those that end after byte `since` of the file."""
        self._flush()
        rows = [lines.parse(span) for lines, span in islice(self._recent.rows(since), count)]
        return tuple(shown_line(line, self._file, self._index, self._ranks.rank_of(line.writer)) for line in reversed(rows))

    def rank_of(self, writer: Writer) -> int | None:
        """The global rank of a writer as far as it is known by now."""
        return self._ranks.rank_of(writer)

    def _last_line(self) -> str | None:
        texts = (clean_text(lines.parse(span).text).strip() for lines, span in self._recent.rows())
        return next(filter(None, texts), None)

    def _flush(self) -> None:
        for block in self._blocks.flush():
            self._digest(block)

    def _digest(self, block: Block) -> None:
        lines = Lines(block, self._clock, self._recent.rows)
        self._clock.look_for_year(block.data)
        self._walks = 0
        for messages in (self._messages, *self._asides.values()):
            messages.resume(lines, lines.first())
        self._neighbours.resume(lines)
        hits, left = self._hits(lines)
        counts = Counter(map(itemgetter(0), hits))
        if known := counts.keys() & self._said():
            hits = [hit for hit in hits if hit[0] not in known]
        new = Counter({number: count for number, count in counts.items() if number not in known}) + Counter(left)
        picked = pick(hits, new, lines, self._index, self._free.is_open)
        done = -1
        for index in picked.at:
            if index >= done:
                span = lines.span(index)
                self._between(lines, done, span.start)
                self._line(lines, span, index)
                done = span.end
        self._between(lines, done, len(block.data))
        said = self._said()
        if sum(counts[number] for number in counts.keys() & said) > len(block.data) // _CROWD:
            self._left_out |= said
        self._floods.learn(picked.floods)
        self._messages.skipped(picked.skipped, self._index.signatures)
        if not block.open:
            self._free.end_block(block.data)
        self._recent.keep(lines)

    def _hits(self, lines: Lines) -> tuple[list[Hit], dict[int, int]]:
        """The hits that are new, and how many more there are of literals in a flood."""
        block = lines.block
        find = self._index.finder(self._left_out | self._floods.numbers, len(block.data))
        folded = len(block.data) > LARGE and lines.has_bars
        hits = find_folded(block.data, find) if folded else find(block.data)
        flooding, left = self._floods.hits(lines)
        if flooding:
            hits = sorted((*hits, *flooding), key=itemgetter(2))
        if block.seen:
            hits = [hit for hit in hits if hit[2] > block.seen]
        return hits, left

    def _said(self) -> frozenset[int]:
        """Texts that only speak for a framework and have done so: NCCL prints a million."""
        seen = sum(map(len, self._frameworks.seen.values()))
        if seen != self._detected[0]:
            only_detect = self._index.only_detects.items()
            self._detected = (seen, frozenset(number for number, detects in only_detect if self._frameworks.knows(detects)))
        return self._detected[1]

    def _between(self, lines: Lines, begin: int, end: int) -> None:
        """Lines that hold nothing that is searched for, but may be rows of a table, or values of the step above."""
        if self._tables.is_open:
            self._tables.ends_before(lines.block.at(max(0, begin)))
            most = _ROWS if len(lines.block.data) <= LARGE else _ROWS_IN_LARGE
            for span in lines.ends(max(0, begin), end, most):
                self._line(lines, span, span.start)
        elif self._reports.is_open:
            for index in self._reports.places(lines.block, max(0, begin), end):
                self._line(lines, lines.span(index), index)

    def _line(self, lines: Lines, span: Span, index: int) -> None:
        line = lines.parse(span, index)
        numbers = frozenset(number for number, _, _ in self._index.scanner.hits(lines.block.data[span.start : span.end]))
        wants = self._index.wants(numbers)
        for profile, detect in wants.detects:
            self._frameworks.saw(profile, detect, line)
        begins = [text for profile, text in wants.free_text if profile.base or self._frameworks.seen.get(profile.name)]
        if self._free.covers(line, span.start, lines.block.data, begins):
            self._aside(wants, line, lines, span)
            return
        if self._asides:
            self._asides.pop(line.writer, None)
        before = None if self._heard is None else self._heard[1]
        self._listen(line, lines, span)
        self._ranks.learn(line)
        self._ray.heard(line)
        compared = [self._read(wants, each, lines, span) for each in unglued(line)]
        if any(compared):
            self._neighbours.want(line, lines, span, before)

    def _aside(self, wants: LineReaders, line: Line, lines: Lines, span: Span) -> None:
        """A line of free text. When its end may be missing, messages in it are kept aside until there is one."""
        if not self._free.is_unsure(line.writer):
            self._asides.pop(line.writer, None)
        elif wants.signatures:
            aside = self._asides.setdefault(line.writer, self._new_messages())
            for signature in wants.signatures:
                aside.try_on(signature, line, lines, span)

    def _new_messages(self) -> Messages:
        return Messages(self._writers.steps, self._index.roles, self._index.kinds, self._marks.starts)

    def _read(self, wants: LineReaders, line: Line, lines: Lines, span: Span) -> bool:
        """Whether its time is compared with other files': it is the first of a known message, or of a stage of the start."""
        self._writers.heard(line)
        if wants.rank:
            self._ranks.learn_text(line)
        for total in wants.totals:
            if found := compiled(total.reader.progress.total_from or "").search(line.text):
                kind = (total.reader.profiles[0].name, total.reader.progress.id)
                self._writers.totals[kind] = float(found["total"].replace(",", ""))
        marks = [each for each in wants.stages if each.marker.regex is None or compiled(each.marker.regex).search(line.text)]
        starting = any(not (each.profile.base or each.stage.steady or each.stage.recurs) for each in marks)
        complete = self._progress(wants, line, starting=starting)
        who = self._who(line)
        once = [self._marks.saw(each.profile, each.stage, line, who, done=each.done, late=complete) for each in marks]
        first = [self._messages.try_on(signature, line, lines, span) for signature in wants.signatures]
        for groups in wants.groups:
            self._mesh.learn(groups.profile.name, groups.line, line, self._ranks.rank_of(line.writer))
        if wants.notice:
            self._notices.read(line)
        if wants.ray:
            self._ray.read(line)
        return any(once) or any(first)

    def _who(self, line: Line) -> Writer:
        """The writer by its rank, as soon as that is known: NCCL tells pids where the training script tells ranks."""
        rank = self._ranks.rank_of(line.writer)
        return line.writer if rank is None else ("rank", rank)

    def _progress(self, wants: LineReaders, line: Line, *, starting: bool) -> bool:
        """Reads the line in the words of each profile that knows such lines. Whether it is a bar that is at its end.
        `starting`: a framework knows it as a part of its start (`loading checkpoint … at iteration 12000`), so it is no step."""
        told: set[str] = set()
        complete = valued = False
        for reader in wants.progress:
            names = {profile.name for profile in reader.profiles}
            if names <= told or (starting and reader.profiles[0].base and reader.progress.counts):
                continue
            if sighting := read(reader.profiles[0], reader.progress, line):
                told |= names
                for counted in self._reports.counted(sighting, reader, line, valued=valued):
                    complete = sighting.step is not None and sighting.step == sighting.total
                    self._sighted(counted.sighting, counted.reader.stages, line, complete=complete)
                valued = valued or bool(sighting.metrics)
        if not told:
            self._below(wants, line)
        return complete

    def _below(self, wants: LineReaders, line: Line) -> None:
        """What is not told by the line alone, but by where it stands."""
        if (row := self._tables.read(line, wants.tables)) is not None:
            if row.line is not line:
                self._ranks.learn(row.line)
                self._writers.heard(row.line)
            self._sighted(row.sighting, row.columns.stages, row.line, complete=False)
        for told in self._reports.read(line):
            self._sighted(told.sighting, told.reader.stages, line, complete=False)

    def _sighted(self, sighting: ProgressSeen, stages: Iterable[tuple[Profile, Stage]], line: Line, *, complete: bool) -> None:
        for profile, stage in stages:
            self._marks.saw(profile, stage, line, self._who(line), late=complete)
        jump = self._writers.saw(sighting, line)
        if jump is not None and (signature := self._index.catalog.signatures.get(_JUMP)) is not None:
            self._messages.saw(signature, line, {}, text=jump.text)
        if sighting.counts:
            for name, signature_id in _NOT_FINITE.items():
                if not math.isfinite(sighting.metrics.get(name, 0.0)) and signature_id in self._index.catalog.signatures:
                    self._messages.saw(self._index.catalog.signatures[signature_id], line, {})

    def _listen(self, line: Line, lines: Lines, span: Span) -> None:
        """Keeps the time. A silence between two lines that were read counts only when the lines between them bear it out."""
        if line.stamp is None:
            return
        self._clock.last_log_time = line.stamp
        self._neighbours.heard(line)
        before, self._heard = self._heard, (line.offset, line.stamp)
        if before is None or line.stamp - before[1] <= (self._clock.longest_silence_s or 0.0) or self._walks >= _WALKS:
            return
        self._walks += 1
        begin = max(-1, before[0] - lines.block.offset)
        gap_s = longest_gap_s(lines, (begin, before[1]), (span.start, line.stamp), self._clock.longest_silence_s or 0.0)
        if gap_s is not None:
            self._clock.silence(gap_s)

    def _count(self) -> None:
        """Where nothing else tells a step, the newest lines may by their shape."""
        stages = self._index.training
        if not stages or self._free.is_open or self._writers.counts_on(besides=ANY.id):
            return
        for line, sighting in self._counters.read(self._recent.rows(), stages[0][0].name, self._counted):
            self._sighted(sighting, stages, line, complete=False)
            self._counted = line.offset

    def _sweep(self) -> None:
        """Every writer of the last lines is heard, whether its line holds a known text or not."""
        names: set[bytes] = set()
        newest: Line | None = None
        for lines, span in self._recent.rows(self._swept):
            name = lines.key_of(span)
            if name in names:
                continue
            names.add(name)
            line = lines.parse(span)
            newest = newest or line
            self._ranks.learn(line)
            self._ray.heard(line)
            self._writers.heard(line)
            if len(names) == 1 and line.stamp is not None:
                self._clock.last_log_time = line.stamp
        if newest is not None:
            self._swept = newest.end
