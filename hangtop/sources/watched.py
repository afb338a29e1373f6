"""The files being watched, by number: the log source writes this, the page source reads it. Both live in one probe."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from hangtop.logs.index import Index
from hangtop.sources.spool import Spool
from hangtop.spec import WatchSpec


class WatchedFile(Struct, frozen=True):
    """One of them. A pipe has no file: what is kept of it stands in its spool."""

    path: str
    rank: int | None = None
    spool: Spool | None = None


class Watched:
    """What is watched now. Both fields are replaced as a whole, never changed: threads need no lock."""

    def __init__(self) -> None:
        self.files: tuple[WatchedFile, ...] = ()
        self.index: Index | None = None


@lru_cache(maxsize=4)
def watched(spec: WatchSpec) -> Watched:
    """The one table for this spec in this process."""
    return Watched()
