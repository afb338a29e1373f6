"""Lines of a run's logs that hold something, the newest last: what the log pane shows, for programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.headless import settled, states
from hangtop.records.ask import PageAsk
from hangtop.records.log import LineKind, LogLine, PageReading
from hangtop.records.reading import Reading

PATIENCE_S = 30.0
LOOK_S = 0.1
MOST_FILES = 32
THE_END = 2**62
"""Beyond the end of every file."""


class LinesError(Exception):
    """They could not be read; the message is one line."""


async def lines(
    feed: Feed, *, pattern: str | None = None, regex: bool = False, kinds: tuple[LineKind, ...] = (), count: int = 100
) -> list[LogLine]:
    """The last `count` lines with this text, or of these kinds, of each file. Raises `LinesError`."""
    asked: dict[int, PageReading | None] = {}
    watching = _Pages(feed, asked)
    try:
        async with asyncio.timeout(PATIENCE_S):
            async for state in states(watching, LOOK_S):
                if not asked and state.log is not None and settled(state):
                    for number in range(min(len(state.log.files), MOST_FILES)):
                        asked[number + 1] = None
                        feed.ask(PageAsk(number + 1, number, THE_END, "back", count, pattern, regex, kinds))
                    if not asked:
                        raise LinesError("no log is there")
                if asked and all(page is not None and _is_whole(page) for page in asked.values()):
                    break
    except TimeoutError:
        if not any(asked.values()):
            raise LinesError(f"the log was not read within {PATIENCE_S:.0f} s") from None
    pages = [page for page in asked.values() if page is not None]
    if problems := [page.problem for page in pages if page.problem]:
        raise LinesError(problems[0])
    return [line for page in pages for line in page.lines]


def _is_whole(page: PageReading) -> bool:
    return bool(page.problem) or page.scanned_part >= 1.0


class _Pages:
    """The feed, whose pages are kept as they pass: they are no part of the state."""

    def __init__(self, feed: Feed, asked: dict[int, PageReading | None]) -> None:
        self._feed, self._asked = feed, asked
        self.ask, self.close = feed.ask, feed.close

    async def readings(self) -> AsyncIterator[Reading]:
        async for reading in self._feed.readings():
            if isinstance(reading.value, PageReading):
                self._asked[reading.value.ask] = reading.value
            yield reading
