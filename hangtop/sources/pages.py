"""The page source: lines from anywhere in a log, for who scrolls back, filters or searches."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator

from hangtop.logs.catalog import load
from hangtop.logs.classify import shown_line
from hangtop.logs.index import Index
from hangtop.logs.lines import Lines
from hangtop.logs.split import Block
from hangtop.logs.stamps import LogClock
from hangtop.records.ask import Ask, PageAsk
from hangtop.records.log import LogLine, PageReading
from hangtop.sources.faults import in_words, shown
from hangtop.sources.matchers import Matcher, SearchProblem, matcher_of
from hangtop.sources.rows import OpenFile, Readable, blocks_back, blocks_on
from hangtop.sources.tail import open_log
from hangtop.sources.watched import WatchedFile, watched
from hangtop.spec import WatchSpec

PROGRESS_S = 0.2
BATCH_ROWS = 256
MOST_COUNT = 2_000


class PageSource:
    """Answers `PageAsk`. An answer comes in parts, each with all lines found so far; `scanned_part` below 1 says that it goes on,
    and who has heard enough stops between two parts."""

    name = "pages"
    interval_s = 0.2
    deadline_s = 3.0

    def __init__(self, spec: WatchSpec) -> None:
        self._watched = watched(spec)
        self._index: Index | None = None

    def read(self, now: float) -> Iterable[PageReading]:
        """Nothing: this source only answers."""
        return ()

    def answer(self, ask: Ask, now: float) -> Iterator[PageReading]:
        if not isinstance(ask, PageAsk):
            return
        files = self._watched.files
        if not 0 <= ask.file < len(files):
            yield PageReading(ask.ask, problem=f"there is no log number {ask.file}")
            return
        matcher: Matcher | None = None
        file: Readable | None = None
        try:
            matcher = matcher_of(ask.pattern, regex=ask.regex)
            file = files[ask.file].spool or OpenFile(open_log(files[ask.file].path))
            yield from Search(ask, file, matcher, files[ask.file], self._current_index()).parts()
        except SearchProblem as problem:
            yield PageReading(ask.ask, problem=shown(str(problem)))
        except OSError as error:
            yield PageReading(ask.ask, problem=in_words(files[ask.file].path, error).problem)
        finally:
            if matcher is not None:
                matcher.close()
            if isinstance(file, OpenFile):
                os.close(file.fd)

    def _current_index(self) -> Index:
        """The one that the log source reads with; profiles may have been edited."""
        self._index = self._watched.index or self._index or Index(load())
        return self._index


class Search:
    """One ask, one walk through the file."""

    def __init__(self, ask: PageAsk, file: Readable, matcher: Matcher | None, watched_file: WatchedFile, index: Index) -> None:
        self._ask = ask
        self._file = file
        self._matcher = matcher
        self._rank = watched_file.rank
        self._index = index
        self._back = ask.direction == "back"
        self._count = max(1, min(ask.count, MOST_COUNT))
        self._found: list[LogLine] = []
        self._spoke_at = time.monotonic()

    def parts(self) -> Iterator[PageReading]:
        """Parts while the search goes on, then the whole answer."""
        blocks = blocks_back(self._file, self._ask.offset) if self._back else blocks_on(self._file, self._ask.offset)
        at = self._ask.offset
        full = False
        for block in blocks:
            for candidates in self._batches(block):
                full = self._take(candidates)
                if full:
                    break
                if time.monotonic() - self._spoke_at >= PROGRESS_S:
                    self._spoke_at = time.monotonic()
                    yield self._part(self._scanned(at))
            if full:
                break
            at = block.offset if self._back else block.offset + len(block.data)
        yield self._part(1.0, ended=not full)

    def _batches(self, block: Block) -> Iterator[list[LogLine]]:
        """The rows of a block that may be wanted, some hundred at a time, in the order of the walk."""
        lines = Lines(block, LogClock())
        batch: list[LogLine] = []
        for start, end in self._row_spans(block.data):
            content = len(block.data[start:end].rstrip(b"\r\n"))
            if not content and (self._matcher or self._ask.kinds):
                continue
            line = lines.parse(lines.span(start + max(0, content - 1)))
            batch.append(shown_line(line, self._ask.file, self._index, self._rank))
            if len(batch) == BATCH_ROWS:
                yield batch
                batch = []
        yield batch

    def _row_spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        if self._matcher is None or not self._matcher.word:
            return _all_rows_back(data) if self._back else _all_rows(data)
        text = data.lower() if self._matcher.any_case else data
        return _rows_with_back(text, self._matcher.word) if self._back else _rows_with(text, self._matcher.word)

    def _take(self, batch: list[LogLine]) -> bool:
        """Keeps what is wanted of these; true when there is enough."""
        wanted = [line for line in batch if not self._ask.kinds or line.kind in self._ask.kinds]
        if self._matcher is not None and wanted:
            texts = [f"{line.prefix} {line.text}" for line in wanted]
            wanted = [wanted[number] for number in self._matcher.matching(texts)]
        self._found += wanted[: self._count - len(self._found)]
        return len(self._found) >= self._count

    def _scanned(self, at: int) -> float:
        """The part of the way that lies behind, never quite 1 while there is more to come."""
        way = self._ask.offset - self._file.start if self._back else self._file.end - self._ask.offset
        return min(0.999, abs(self._ask.offset - at) / max(1, way))

    def _part(self, scanned: float, *, ended: bool = False) -> PageReading:
        lines = tuple(reversed(self._found)) if self._back else tuple(self._found)
        edge = self._ask.offset if not lines else lines[0].offset
        return PageReading(
            self._ask.ask,
            lines,
            at_start=(ended and self._back) or edge <= self._file.start,
            at_end=(ended and not self._back) or (self._back and self._ask.offset >= self._file.end),
            found=len(lines),
            scanned_part=scanned,
        )


def _all_rows(data: bytes) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield start, end
        start = end


def _all_rows_back(data: bytes) -> Iterator[tuple[int, int]]:
    end = len(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        yield start, end
        end = start


def _rows_with(data: bytes, word: bytes) -> Iterator[tuple[int, int]]:
    at = data.find(word)
    while at >= 0:
        end = data.find(b"\n", at) + 1 or len(data)
        yield data.rfind(b"\n", 0, at) + 1, end
        at = data.find(word, end)


def _rows_with_back(data: bytes, word: bytes) -> Iterator[tuple[int, int]]:
    at = data.rfind(word)
    while at >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        yield start, data.find(b"\n", at) + 1 or len(data)
        at = data.rfind(word, 0, start)
