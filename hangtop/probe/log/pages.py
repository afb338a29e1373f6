"""The page source: lines from anywhere in a log, for scrolling back, filtering and searching."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache

from hangtop.logs.catalog.load import load
from hangtop.logs.extract.extractor import LineReaders
from hangtop.logs.extract.line_kind import MARKS, shown_line
from hangtop.logs.extract.literal_index import LiteralIndex, index_of
from hangtop.logs.lines.block_lines import Lines, Span
from hangtop.logs.lines.literal_scan import Scanner
from hangtop.logs.lines.split import Block
from hangtop.logs.lines.timestamps import LogClock
from hangtop.probe.context import ProbeContext, WatchedFile
from hangtop.probe.log.line_filter import LineFilter, SearchProblem, matcher_of
from hangtop.probe.log.row_blocks import OpenLogFile, Readable, blocks_back, blocks_on
from hangtop.probe.log.tail import open_log
from hangtop.probe.source import Source
from hangtop.records.ask import PageAsk
from hangtop.records.log import LineKind, LogLine, PageReading
from hangtop.system.files.read_errors import in_words, shown

PROGRESS_S = 0.2
BATCH_ROWS = 256
MOST_COUNT = 2_000
JSON = b'{"'
"""A row with this may be shown in other words than it holds."""


class PageSource(Source):
    """Answers `PageAsk` in parts, each with all lines found so far. `scanned_part` below 1 says that more will come."""

    deadline_s = 3.0

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._index: LiteralIndex | None = None

    def answer(self, ask: PageAsk, now: float) -> Iterator[PageReading]:
        watched = self._context.file(ask.file)
        if watched is None:
            yield PageReading(ask.ask, problem=f"there is no log number {ask.file}")
            return
        matcher: LineFilter | None = None
        file: Readable | None = None
        try:
            matcher = matcher_of(ask.pattern, regex=ask.regex)
            file = watched.buffer or OpenLogFile(open_log(watched.path))
            yield from Search(ask, file, matcher, watched, self._current_index()).parts()
        except SearchProblem as problem:
            yield PageReading(ask.ask, problem=shown(str(problem)))
        except OSError as error:
            yield PageReading(ask.ask, problem=in_words(watched.path, error).problem)
        finally:
            if matcher is not None:
                matcher.close()
            if isinstance(file, OpenLogFile):
                os.close(file.fd)

    def _current_index(self) -> LiteralIndex:
        """The index that the log source reads with now; profiles may have been edited."""
        self._index = self._context.index or self._index or index_of(load())
        return self._index


class Search:
    """One ask, answered in one walk through the file, and how far that has come."""

    def __init__(
        self, ask: PageAsk, file: Readable, matcher: LineFilter | None, watched: WatchedFile, index: LiteralIndex
    ) -> None:
        self._ask = ask
        self._file = file
        self._matcher = matcher
        self._watched = watched
        self._index = index
        self._clock = LogClock(watched.shift_s)
        self._back = ask.direction == "back"
        self._count = max(1, min(ask.count, MOST_COUNT))
        self._found: list[LogLine] = []
        self._kinds = kind_scanner(index, ask.kinds)

    def parts(self) -> Iterator[PageReading]:
        """Parts while the search goes on, then the whole answer."""
        blocks = blocks_back(self._file, self._ask.offset) if self._back else blocks_on(self._file, self._ask.offset)
        spoke_at = time.monotonic()
        for block in blocks:
            for batch in self._batches(block):
                if self._take(batch):
                    yield self._part(1.0)
                    return
                if time.monotonic() - spoke_at >= PROGRESS_S:
                    spoke_at = time.monotonic()
                    yield self._part(self._scanned(block))
        yield self._part(1.0, ended=True)

    def _batches(self, block: Block) -> Iterator[list[LogLine]]:
        """The lines of a block that may match, some hundred at a time, in the order of the walk."""
        lines = Lines(block, self._clock)
        batch: list[LogLine] = []
        for span in self._spans(lines):
            line = lines.parse(span)
            batch.append(shown_line(line, self._ask.file, self._index, self._watched.rank_of(line.writer)))
            if len(batch) == BATCH_ROWS:
                yield batch
                batch = []
        yield batch

    def _spans(self, lines: Lines) -> Iterator[Span]:
        pointed_at = self._pointed_at(lines)
        if pointed_at is not None:
            yield pointed_at
        for span in self._shown(lines):
            if span != pointed_at:
                yield span

    def _shown(self, lines: Lines) -> Iterator[Span]:
        """What a terminal would show of each row that may match."""
        data = lines.block.data
        places = self._places(data)
        if places is None and self._back:
            return lines.rows_back()
        rows = _rows(data) if places is None else _rows_at(data, reversed(places) if self._back else places)
        return filter(None, (lines.shown(row, end) for row, end in rows))

    def _places(self, data: bytes) -> list[int] | None:
        """One place in each row that may match; `None` when any row may."""
        if self._matcher is not None and self._matcher.word:
            text = data.lower() if self._matcher.any_case else data
            return sorted((*_first_in_rows(text, self._matcher.word), *_first_in_rows(data, JSON)))
        return None if self._kinds is None else [start for _, start, _ in self._kinds.hits(data)]

    def _pointed_at(self, lines: Lines) -> Span | None:
        """The state of a progress bar that the ask points at (a place after a `\\r`), though later states are drawn over it."""
        at = self._ask.offset
        if self._back or lines.block.offset != at or not at or self._file.pread(1, at - 1) != b"\r":
            return None
        return lines.span(0)

    def _take(self, batch: Sequence[LogLine]) -> bool:
        """Keep the lines that match; true when there are enough."""
        wanted = [line for line in batch if not self._ask.kinds or line.kind in self._ask.kinds]
        if self._matcher is not None and wanted:
            wanted = [wanted[number] for number in self._matcher.matching([f"{line.prefix} {line.text}" for line in wanted])]
        self._found += wanted[: self._count - len(self._found)]
        return len(self._found) >= self._count

    def _scanned(self, block: Block) -> float:
        """The part of the way that is done, below 1 while there is more to come."""
        asked = min(self._ask.offset, self._file.end)
        begin, end = (self._file.start, asked) if self._back else (asked, self._file.end)
        behind = end - block.offset if self._back else block.offset - begin
        return max(0.0, min(0.999, behind / max(1, end - begin)))

    def _part(self, scanned: float, *, ended: bool = False) -> PageReading:
        lines = tuple(reversed(self._found)) if self._back else tuple(self._found)
        first = lines[0].offset if lines else self._ask.offset
        return PageReading(
            self._ask.ask,
            lines,
            at_start=(ended and self._back) or first <= self._file.start,
            at_end=self._ask.offset >= self._file.end or (ended and not self._back),
            scanned_part=scanned,
        )


@lru_cache(maxsize=4)
def kind_scanner(index: LiteralIndex, kinds: tuple[LineKind, ...]) -> Scanner | None:
    """Finds rows that may be of these kinds; `None` when any row may."""
    if not kinds or not set(kinds) <= {"stage", "warning", "error"}:
        return None
    marks = (mark for kind in kinds for mark in MARKS.get(kind, ()))
    known = zip(index.scanner.literals, index.each, strict=True)
    return Scanner(dict.fromkeys((*marks, *(literal.decode() for literal, readers in known if _may_be(readers, kinds)))))


def _may_be(readers: LineReaders, kinds: tuple[LineKind, ...]) -> bool:
    """Whether a line from which these read may be of one of these kinds (`hangtop.logs.extract.line_kind.line_kind`)."""
    said = {{"fatal": "error", "warning": "warning"}.get(signature.severity) for signature in readers.signatures}
    return ("stage" in kinds and bool(readers.stages)) or not said.isdisjoint(kinds)


def _rows(data: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of each row, its `\\n` left out."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield start, end
        start = end + 1


def _first_in_rows(data: bytes, word: bytes) -> Iterator[int]:
    """Where the word stands first in each row that holds it."""
    at = data.find(word)
    while at >= 0:
        yield at
        end = data.find(b"\n", at)
        at = data.find(word, end) if end >= 0 else -1


def _rows_at(data: bytes, places: Iterator[int] | Sequence[int]) -> Iterator[tuple[int, int]]:
    """The rows that hold these places, each once. Places come in order, forwards or backwards."""
    row, end = 0, -1
    for place in places:
        if not row <= place < end:
            row = data.rfind(b"\n", 0, place) + 1
            end = data.find(b"\n", place)
            end = len(data) if end < 0 else end
            yield row, end
