"""What goes along with a watch and may fail, such as a recorder or a sender of notices, is shown among the sources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from msgspec.structs import replace

from hangtop.feeds.probe_feed import Feed
from hangtop.records.ask import Ask
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.reading import Reading

ASIDE = ("record", "notify")
"""The names of such things among the sources."""


class TroubledFeed:
    """The readings of another feed. `trouble`: why what has this `name` is not well; empty once it is well again, `None` while it
    always was. `ends`: is called when the watch ends."""

    def __init__(self, feed: Feed, name: str, trouble: Callable[[], str | None], ends: Callable[[], None]) -> None:
        self._feed, self._name, self._trouble, self._ends = feed, name, trouble, ends

    async def readings(self) -> AsyncIterator[Reading]:
        async for reading in self._feed.readings():
            yield with_trouble(reading, self._name, self._trouble)

    def ask(self, ask: Ask) -> None:
        self._feed.ask(ask)

    def close(self) -> None:
        self._feed.close()
        self._ends()


def with_trouble(reading: Reading, name: str, trouble: Callable[[], str | None]) -> Reading:
    """A sign of life of the probe tells it too."""
    if not isinstance(reading.value, Heartbeat) or (why := trouble()) is None:
        return reading
    health = SourceHealth(name, problem=why) if why else SourceHealth(name, absent="well again")
    return replace(reading, value=replace(reading.value, sources=(*reading.value.sources, health)))
