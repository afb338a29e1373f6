"""The app on a recording in this terminal: `play_in_terminal.py NAME [--beat] [options of HangtopApp as NAME=VALUE]`.

The recording's last second goes on from now; `--beat` adds a heartbeat each second, as a probe would.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from hangtop.common import clock
from hangtop.records.ask import Ask
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.reading import Reading
from hangtop.tui.app import HangtopApp
from tests.app.play import session


class BeatingFeed:
    def __init__(self, readings: list[Reading], offset_s: float, *, beats: bool) -> None:
        self._readings, self._offset_s, self._beats = readings, offset_s, beats

    async def readings(self) -> AsyncIterator[Reading]:
        for reading in self._readings:
            yield reading
        while True:
            await asyncio.sleep(1 if self._beats else 3600)
            at = clock.now() - self._offset_s
            yield Reading("probe", "n1", at, Heartbeat((SourceHealth("log", at), SourceHealth("procs", at))))

    def ask(self, ask: Ask) -> None:
        """A recording has no more than it has shown."""

    def close(self) -> None:
        """Nothing is open."""


def main(name: str, *options: str) -> None:
    spec, readings, at = session(name)
    offset_s = clock.now() - at
    feed = BeatingFeed(readings, offset_s, beats="--beat" in options)
    HangtopApp(spec, feed, now=lambda: clock.now() - offset_s, calm="--calm" in options).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
