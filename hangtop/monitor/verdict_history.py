"""The verdict over time: what changed when, and a brake on verdicts that flap."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.verdict import Verdict, VerdictWord

HOLD_S = 5.0
"""A verdict that is no graver than the one before must stand for this long, unless output resumed."""
RESUMED_S = 5.0
ENTRIES = 200
SURER = {"possible": 0, "likely": 1, "certain": 2}


class VerdictEntry(Struct, frozen=True):
    """From `at` (unix time) on this was said."""

    at: float
    word: VerdictWord
    headline: str


class Timeline(Struct, frozen=True):
    """What is said now, what was said before, and what waits to be said since when."""

    said: Verdict | None = None
    entries: tuple[VerdictEntry, ...] = ()
    pending: tuple[object, ...] | None = None
    pending_since: float = 0.0


def follow(timeline: Timeline, verdict: Verdict, now: float) -> Timeline:
    """The timeline after this verdict. `said` has its numbers fresh, also while a change is held back."""
    said = timeline.said
    if said is None or meaning(said) == meaning(verdict):
        first = () if said is not None else (VerdictEntry(now, verdict.word, verdict.headline),)
        return replace(timeline, said=verdict, entries=(*timeline.entries, *first), pending=None)
    held_since = timeline.pending_since if timeline.pending == meaning(verdict) else now
    if not _at_once(said, verdict) and now - held_since < HOLD_S:
        still = replace(said, silence_s=verdict.silence_s, limit_s=verdict.limit_s, stage=verdict.stage)
        return replace(timeline, said=still, pending=meaning(verdict), pending_since=held_since)
    entry = VerdictEntry(now, verdict.word, verdict.headline)
    return Timeline(said=verdict, entries=(*timeline.entries, entry)[-ENTRIES:])


def _at_once(said: Verdict, verdict: Verdict) -> bool:
    """Graver, surer of the same, ended, or output resumed."""
    if verdict.word == "finished" or verdict.state.urgency > said.state.urgency:
        return True
    if verdict.word == said.word and SURER[verdict.confidence] > SURER[said.confidence]:
        return True
    before = said.silence_s or 0.0
    return verdict.silence_s is not None and verdict.silence_s < min(RESUMED_S, before)


def meaning(verdict: Verdict) -> tuple[object, ...]:
    """What makes two verdicts the same, whatever their numbers say."""
    culprits = frozenset((culprit.rank, culprit.pid) for culprit in verdict.culprits)
    return verdict.word, verdict.kind, culprits, verdict.at_work
