"""A feed whose readings hold no secrets: for what is shown to others."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from hangtop.common.secrets.redactor import Redactor
from hangtop.feeds.probe_feed import Feed
from hangtop.records import wire
from hangtop.records.ask import Ask
from hangtop.records.reading import Reading


class RedactedFeed:
    """The readings of another feed, redacted as in a bundle."""

    def __init__(self, feed: Feed) -> None:
        self._feed, self._redactor = feed, Redactor()

    async def readings(self) -> AsyncIterator[Reading]:
        async for reading in self._feed.readings():
            tree = self._redactor.tree(msgspec.to_builtins(reading))
            yield wire.decode_reading(msgspec.json.encode(tree))

    def ask(self, ask: Ask) -> None:
        self._feed.ask(ask)

    def close(self) -> None:
        self._feed.close()
