"""Where readings come from: a probe process, or a recording. The screen knows only this seam."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from hangtop.records.ask import Ask
from hangtop.records.reading import Reading


class Feed(Protocol):
    """Readings as they come. `ask` and `close` never block; after `close` the iterator ends."""

    def readings(self) -> AsyncIterator[Reading]: ...

    def ask(self, ask: Ask) -> None: ...

    def close(self) -> None: ...
