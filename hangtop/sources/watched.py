"""The files being watched, by number: the log source writes this, the page source reads it. Both live in one probe."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct

from hangtop.logs.index import Index
from hangtop.logs.lines import Writer
from hangtop.sources.spool import Spool
from hangtop.spec import WatchSpec


class WatchedFile(Struct, frozen=True):
    """One of them. A pipe has no file: what is kept of it stands in its spool. `rank_of` tells, as far as it was learned by now,
    whose line it is; `shift_s` makes unix time of the log's own clock."""

    path: str
    rank_of: Callable[[Writer], int | None]
    shift_s: float | None = None
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
