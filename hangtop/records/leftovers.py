"""What dead runs left behind on this machine, and what looks like it but is not."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.plan import LeftAlone, Removal


class LeftoversReading(Struct, frozen=True, omit_defaults=True, tag="leftovers"):
    """The answer to a `LeftoversAsk`. `kept`: what bears the name of a leftover and stays, with the reason.

    `writing`: of the asked pids those that write to a file of late, with its path: they live, whoever their parent is.
    """

    ask: int
    found: tuple[Removal, ...] = ()
    kept: tuple[LeftAlone, ...] = ()
    writing: dict[int, str] = {}
    problem: str | None = None
