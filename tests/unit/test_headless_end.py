"""A watch without a screen ends when it is told to, in whatever moment that comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from hangtop.monitor.headless import states
from hangtop.records.ask import Ask
from hangtop.records.health import Heartbeat
from hangtop.records.reading import Reading

BEAT = Reading("log", "here", 1.0, Heartbeat())


class Beating:
    """A feed that gives a reading whenever `beat` is called."""

    def __init__(self) -> None:
        self._beats: asyncio.Queue[Reading] = asyncio.Queue()

    def beat(self) -> None:
        self._beats.put_nowait(BEAT)

    async def readings(self) -> AsyncIterator[Reading]:
        while True:
            yield await self._beats.get()

    def ask(self, ask: Ask) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("turns", range(8))
async def test_an_interrupt_just_when_a_reading_comes_is_not_forgotten(turns: int) -> None:
    feed = Beating()

    async def watch() -> None:
        async for _ in states(feed, 3600.0):
            pass

    watching = asyncio.create_task(watch())
    for _ in range(20):
        await asyncio.sleep(0)
    feed.beat()
    for _ in range(turns):
        await asyncio.sleep(0)
    watching.cancel()
    await asyncio.wait({watching}, timeout=5.0)
    assert watching.cancelled()
