"""What a guard says on stdout: one JSON object a line, schema 1 (`hangtop/SCHEMA.md`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hangtop.guard.policy import Deed, Event
from hangtop.records.advice import Advice
from hangtop.records.verdict import Confidence, Culprit, Kind, StageNow, Verdict, VerdictWord

What = Literal["guard", "verdict", "sign", "over", "deed", "outcome"]
"""`guard`: it began or ends. `verdict`, `sign`: something else stands. `over`: a sign is gone. `deed`, `outcome`: one is done."""


class VerdictTold(Struct, frozen=True):
    """The verdict of that moment, in the words of `hangtop check --json`."""

    verdict: VerdictWord
    kind: Kind | None
    confidence: Confidence
    headline: str
    silence_s: float | None
    stage: StageNow | None
    culprits: tuple[Culprit, ...]


class GuardEvent(Struct, frozen=True):
    """`at`, `since`: ISO 8601, UTC. `name`: of the event that stands. `text`: a sentence. `went`: of an outcome."""

    at: str
    what: What
    run: tuple[str, ...]
    text: str
    name: Event | None = None
    since: str | None = None
    verdict: VerdictTold | None = None
    advice: tuple[Advice, ...] = ()
    deed: Deed | None = None
    went: bool | None = None
    dry_run: bool = False
    schema: int = 1


def iso(at: float) -> str:
    """Unix time as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def told(verdict: Verdict) -> VerdictTold:
    """The part of a verdict that an event carries."""
    of = {name: getattr(verdict, name) for name in VerdictTold.__struct_fields__ if name not in ("verdict", "culprits")}
    return VerdictTold(verdict=verdict.word, culprits=tuple(culprit.told for culprit in verdict.culprits), **of)


def with_advice(event: GuardEvent, advice: Sequence[Advice]) -> GuardEvent:
    """The event with what is advised, the likeliest first."""
    return replace(event, advice=tuple(advice[:3]))
