"""What dead runs left behind on this machine, and what only looks like it."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.plan import LeftAlone, Removal


class LeftoversReading(Struct, frozen=True, omit_defaults=True, tag="leftovers"):
    """The answer to a `LeftoversAsk`. `kept`: what has the name of a leftover but stays, with the reason.

    `writing`: the asked pids that have written to a file lately, with its path: they are in use, whatever their parent is.
    """

    ask: int
    found: tuple[Removal, ...] = ()
    kept: tuple[LeftAlone, ...] = ()
    writing: dict[int, str] = {}
    problem: str | None = None
