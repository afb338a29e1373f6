"""The page source: lines from anywhere in a log, for scrolling back, filtering and searching."""

from __future__ import annotations

import os
from collections.abc import Iterator

from hangtop.logs.catalog.load import load
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.line_filter import LineFilter, SearchProblem, matcher_of
from hangtop.probe.log.row_blocks import OpenLogFile, Readable
from hangtop.probe.log.search import Search
from hangtop.probe.log.tail import open_log
from hangtop.probe.source import Source
from hangtop.records.ask import PageAsk
from hangtop.records.log import PageReading
from hangtop.system.files.read_errors import in_words, shown


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
        self._index = self._context.index or self._index or LiteralIndex(load())
        return self._index
