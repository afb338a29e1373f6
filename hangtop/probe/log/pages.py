"""The page source: lines from anywhere in a log, for who scrolls back, filters or searches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from hangtop.logs.catalog.load import load
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.probe.context import watched
from hangtop.probe.log.line_filter import LineFilter, SearchProblem, matcher_of
from hangtop.probe.log.row_blocks import OpenFile, Readable
from hangtop.probe.log.search import Search
from hangtop.probe.log.tail import open_log
from hangtop.records.ask import Ask, PageAsk
from hangtop.records.log import PageReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.files.read_errors import in_words, shown


class PageSource:
    """Answers `PageAsk`. An answer comes in parts, each with all lines found so far; `scanned_part` below 1 says that it goes on,
    and who has heard enough stops between two parts."""

    name = "pages"
    interval_s = 5.0
    deadline_s = 3.0

    def __init__(self, spec: WatchSpec) -> None:
        self._watched = watched(spec)
        self._index: LiteralIndex | None = None

    def read(self, now: float) -> Iterable[PageReading]:
        """Nothing: this source only answers."""
        return ()

    def answer(self, ask: Ask, now: float) -> Iterator[PageReading]:
        if not isinstance(ask, PageAsk):
            return
        watched = self._watched.file(ask.file)
        if watched is None:
            yield PageReading(ask.ask, problem=f"there is no log number {ask.file}")
            return
        matcher: LineFilter | None = None
        file: Readable | None = None
        try:
            matcher = matcher_of(ask.pattern, regex=ask.regex)
            file = watched.spool or OpenFile(open_log(watched.path))
            yield from Search(ask, file, matcher, watched, self._current_index()).parts()
        except SearchProblem as problem:
            yield PageReading(ask.ask, problem=shown(str(problem)))
        except OSError as error:
            yield PageReading(ask.ask, problem=in_words(watched.path, error).problem)
        finally:
            if matcher is not None:
                matcher.close()
            if isinstance(file, OpenFile):
                os.close(file.fd)

    def _current_index(self) -> LiteralIndex:
        """The one that the log source reads with; profiles may have been edited."""
        self._index = self._watched.index or self._index or LiteralIndex(load())
        return self._index
