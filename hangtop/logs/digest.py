"""One log file, digested: bytes in as they come, facts out. The same facts however the bytes were cut."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from hangtop.common.clean_text import clean_text
from hangtop.logs.catalog.load import Catalog
from hangtop.logs.extract.begun_again import BegunAgain
from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.extract.framework_votes import FrameworkVotes
from hangtop.logs.extract.layout_sizes import LayoutSizes
from hangtop.logs.extract.line_kind import shown_line
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.line_sampling import LARGE, LineSampler
from hangtop.logs.extract.line_writers import LineWriters
from hangtop.logs.extract.literal_index import INDEPENDENT, LiteralIndex, index_of
from hangtop.logs.extract.longest_gap import SilenceWatch
from hangtop.logs.extract.messages import KnownMessages
from hangtop.logs.extract.model_output import ModelOutput
from hangtop.logs.extract.named_work import NamedWork
from hangtop.logs.extract.news import News
from hangtop.logs.extract.stages import StageMarks
from hangtop.logs.extract.steps.progress import StepLine
from hangtop.logs.extract.steps.step_extractor import Steps
from hangtop.logs.extract.steps.step_times import StepTimesRead
from hangtop.logs.extract.tail_buffer import TailBuffer
from hangtop.logs.extract.unstamped_lines import UnstampedLines
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Line, Lines, Span, Writer, unglued
from hangtop.logs.lines.split import Block, Blocks
from hangtop.logs.lines.timestamps import LogClock
from hangtop.records.log import LogLine


class Digest:
    """Everything known of one file of a run. `index` (or a catalog) is shared between files and only read.

    `clock_shift_s`: what to add to the log's own clock to get unix time. `rank`: the rank that the file's name gives.
    `offset`: where in the file the first byte stands that is fed, a line start.
    `near`: the first full date of the file, for dates without a year.
    `written_by`: when the last byte of what was there before hangtop came was written.
    `on_step`: is told each step that is read. `clock` and `ranks`: what is known by now
    of the times in it, and of its writers.
    """

    def __init__(
        self,
        catalog: Catalog | LiteralIndex,
        file: int,
        *,
        clock_shift_s: float | None = None,
        rank: int | None = None,
        offset: int = 0,
        near: float | None = None,
        written_by: float | None = None,
        on_step: Callable[[StepLine], None] | None = None,
    ) -> None:
        self._index = index = catalog if isinstance(catalog, LiteralIndex) else index_of(catalog)
        self._file = file
        self._blocks = Blocks(offset)
        self.clock = LogClock(clock_shift_s, near, written_by)
        self._tail = TailBuffer(self.clock)
        self._swept_to = -1
        self.bytes = 0
        self._frameworks = FrameworkVotes()
        self._sampler = LineSampler(index, self._frameworks)
        self._output = ModelOutput()
        self.ranks = RankTable(rank)
        self._stages = StageMarks(self.ranks)
        self._writers = LineWriters(self.ranks, self._stages)
        self._messages = KnownMessages(index, self.ranks, self._writers, self._stages)
        # A step proves a stage and sets the pace before its values are looked at: they are compared with those before.
        self._news, self._works, self._again, self._times = News(), NamedWork(), BegunAgain(), StepTimesRead(self.ranks)
        early = (self._stages.add_step, self._writers.add_step, self._messages.add_step)
        late = (self._news.add_step, self._works.add_step, self._again.add_step, self._times.add_step)
        listeners = (*early, *late, *(() if on_step is None else (on_step,)))
        self._steps = Steps(self.ranks, self._writers, index.training, listeners)
        self._unstamped = UnstampedLines(self.clock, offset)
        self._extractors: tuple[Extractor, ...] = (
            SilenceWatch(self.clock),
            self.ranks,  # before all that ask whose line it is
            self._writers,
            self._steps,  # before the stages and messages of the same line: it is a step that they come after
            self._stages,  # before the messages: an error after a restart is a new one
            self._messages,
            LayoutSizes(self.ranks),
            self._news,
            self._works,
            self._again,
            self._times,
            *(extractor() for extractor in INDEPENDENT),
            self._unstamped,  # last: it wants to know of each line whether it `is_first`
        )
        # Each line goes through these two methods: only those that do anything are called.
        doing = [(extractor, type(extractor)) for extractor in self._extractors]
        self._note_writer = [extractor.note_writer for extractor, kind in doing if kind.note_writer is not Extractor.note_writer]
        self._read_each = [
            (kind if kind.literals else None, extractor.read) for extractor, kind in doing if kind.read is not Extractor.read
        ]

    def feed(self, data: bytes, at: float | None = None, since: float | None = None) -> None:
        """More bytes of the file. `at`: unix time of their arrival, `None` while older parts are read. `since`: when they were
        not there yet."""
        self.bytes += len(data)
        self._unstamped.history_end += len(data) if at is None else 0
        self.clock.arrived(at if data else None, since)
        for block in self._blocks.feed(data):
            self._digest(block)

    def flush(self) -> None:
        """Digests what was fed since, a line without its end too."""
        for block in self._blocks.flush():
            self._digest(block)

    def reopened(self, offset: int = 0) -> None:
        """The file begins anew (rotated or truncated), or what stood before this line start is lost, but the run goes on: what is
        known stays."""
        self.flush()
        self._blocks = Blocks(offset)
        self._tail, self._swept_to = TailBuffer(self.clock), -1
        for extractor in self._extractors:
            extractor.reopened(offset)

    def facts(self) -> FileFacts:
        """All that is known now."""
        self.flush()
        self._note_newest_writers()
        if not self._output.is_open:
            self._steps.count(self._tail.rows())
        new = self._news.look(self._tail.rows(self._news.read_to), self._tail.pieces(), self._tail.drawn_before())
        self._works.look(new)
        self._again.look(new)
        facts = FileFacts(self._file, self.bytes, scores=self._frameworks.scores(), last_line=self._last_line())
        for extractor in self._extractors:
            facts = extractor.add_facts(facts)
        return facts

    def tail(self, count: int, since: int = -1) -> tuple[LogLine, ...]:
        """The newest lines, oldest first, as they may be shown; only those that end after byte `since` of the file."""
        self.flush()
        rows = [lines.parse(span) for lines, span in islice(self._tail.rows(since), count)]
        return tuple(shown_line(line, self._file, self._index, self.ranks.rank_of(line.writer)) for line in reversed(rows))

    def _last_line(self) -> str | None:
        texts = (clean_text(lines.parse(span).text).strip() for lines, span in self._tail.rows())
        return next(filter(None, texts), None)

    def _digest(self, block: Block) -> None:
        lines = Lines(block, self.clock, self._tail.rows)
        self.clock.look_for_year(block.data)
        for extractor in self._extractors:
            extractor.begin_block(lines)
        sampled = self._sampler.sample(lines, in_text=self._output.is_open)
        done = 0
        timed = self._times.places(block, is_large=len(block.data) > LARGE)
        for index in sorted((*sampled.at, *timed)) if timed else sampled.at:
            if index >= done:
                span = lines.span(index)
                self._read_between(lines, done, span.start)
                self._read(lines, span, index)
                done = span.end
        self._read_between(lines, done, len(block.data))
        self._sampler.learn(sampled, lines)
        self._messages.skipped(sampled.skipped)
        if not block.open:
            self._output.end_block(block.data)
        self._tail.keep(lines)

    def _read_between(self, lines: Lines, begin: int, end: int) -> None:
        """Lines in which the scan found nothing, but that may belong to a step above them."""
        for span, index in self._steps.between(lines, begin, end):
            self._read(lines, span, index)

    def _read(self, lines: Lines, span: Span, index: int) -> None:
        """Hands a line to the extractors, unless it is model output: nothing in that counts, except as a vote for a framework."""
        line = lines.parse(span, index)
        readers = self._index.readers(lines.block.data[span.start : span.end])
        for profile, detect in readers.detects:
            self._frameworks.vote(profile, detect, line)
        begins = [text for profile, text in readers.free_text if profile.base or self._frameworks.seen.get(profile.name)]
        is_output = self._output.covers(line, span.start, lines.block.data, begins)
        if is_output and self._output.is_unsure(line.writer):
            self._messages.read_output(FoundLine(line, lines, span, readers, []))
            return
        self._messages.output_ended(line.writer)
        if not is_output:
            for piece in unglued(line):
                self._hand_on(FoundLine(piece, lines, span, readers, readers.markers(piece.text)))

    def _hand_on(self, found: FoundLine) -> None:
        found.lines.heard[found.span.start] = found.line.writer
        for note_writer in self._note_writer:
            note_writer(found.line)
        for by_literals, read in self._read_each:
            if by_literals is None or by_literals in found.readers.extractors:
                read(found)

    def _note_newest_writers(self) -> None:
        """Each writer of the last lines is heard, whether its line holds a known text or not."""
        keys: set[bytes] = set()
        heard: set[Writer] = set()
        newest: Line | None = None
        for lines, span in self._tail.rows(self._swept_to):
            if newest is None:
                newest = lines.parse(span)
                if newest.stamp is not None:
                    self.clock.last_log_time = newest.stamp
            if (writer := lines.heard.get(span.start)) is not None:
                heard.add(writer)
                continue
            key = lines.key_of(span)
            if key in keys:
                continue
            keys.add(key)
            line = lines.parse(span)
            if line.writer not in heard:
                for note_writer in self._note_writer:
                    note_writer(line)
        if newest is not None:
            self._swept_to = newest.end
