"""Since when something is in its present state: remembered from read to read, because Ray does not tell."""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import Struct


class Since(Struct, frozen=True, gc=False):
    """`seen`: it was in this state when first read, so the state may have begun earlier."""

    at: float
    seen: bool


class FirstSeen:
    """Remembers the state of each thing and since when. Things that are not asked for between two `turn`s are forgotten."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Hashable, Since]] = {}
        self._asked: dict[Hashable, tuple[Hashable, Since]] = {}

    def since(self, thing: Hashable, state: Hashable, now: float, began_at: float | None = None) -> Since:
        """Since when `thing` is in `state`. `began_at`: when it began, if Ray tells."""
        before, since = self._known.get(thing, (None, None))
        if since is None:
            since = Since(began_at or now, seen=began_at is None)
        elif before != state:
            since = Since(now, seen=False)
        elif since.seen and began_at is not None:
            since = Since(began_at, seen=False)
        self._asked[thing] = (state, since)
        return since

    def turn(self) -> None:
        """End one read."""
        self._known, self._asked = self._asked, {}
