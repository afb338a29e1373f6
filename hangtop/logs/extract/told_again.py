"""Exceptions that were told with their own traceback before: a driver that tells them again knows less of where."""

from __future__ import annotations

from hangtop.logs.catalog.signature import Signature

KEPT = 1_024


class ToldAgain:
    """By their text: which were raised where they are no such message, and how deep they were raised."""

    def __init__(self) -> None:
        self._elsewhere: set[tuple[str, str]] = set()
        self._depths: dict[tuple[int, str], int] = {}

    def may_be(self, signature: Signature, text: str, frames: tuple[str, ...]) -> bool:
        """Whether it was raised where such a message may be, now and when it was first told."""
        fits, said = signature.was_raised_in(frames), (signature.id, text.strip())
        if not fits and frames and signature.not_raised_in and len(self._elsewhere) < KEPT:
            self._elsewhere.add(said)
        return fits and said not in self._elsewhere

    def is_deepest(self, starts: int, text: str, frames: int) -> bool:
        """Whether no longer traceback has told it since the run last began. `starts`: how often it may have begun."""
        said = (starts, text.strip())
        deepest = self._depths.get(said, 0)
        if said in self._depths or len(self._depths) < KEPT:
            self._depths[said] = max(deepest, frames)
        return frames >= deepest
