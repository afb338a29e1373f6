"""The order of findings, the only one: everything that tells of findings keeps it, and a verdict rests on the first. Pure.

This attempt before older ones; what the run survived, or what never ends a run, behind the rest; causes, then victims,
consequences, summaries; a warning behind what ended the run, unless it came before a message of its own family; then by time.
Offsets say what came first within one file and nothing of two: between files the time decides (`Finding.written`), and where that
does not tell them apart the first one says so (`doubt`). The numbers of files, and the order in which they were named, never
count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import merge

from msgspec.structs import replace

from hangtop.records.log import ROLES, TRACEBACK, Finding, StageEvent, WrittenAt, at_once

Tier = tuple[int, int, int, bool]

HARMLESS = ("", "none", "slow")
"""What a signature says of `hang` when the message never ends a run or holds it up."""


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """All of them as they are to be told."""
    tiers: dict[Tier, list[Finding]] = {}
    for finding in findings:
        tiers.setdefault(tier_of(finding), []).append(finding)
    return tuple(finding for tier in sorted(tiers) for finding in _with_doubt(_in_tier(tiers[tier])))


def tier_of(finding: Finding) -> Tier:
    """What counts before time."""
    says_little = finding.id == TRACEBACK and finding.role == "summary"  # less than any page on one of its lines
    return -finding.attempt, _weight(finding), ROLES.index(finding.role), says_little


def _weight(finding: Finding) -> int:
    """0 for what may be why the run is as it is, 1 for a warning that is not, 2 for a hint."""
    if finding.severity == "hint":
        return 2
    return int(finding.severity == "warning" and (finding.survived or finding.hang in HARMLESS))


def _in_tier(tier: Sequence[Finding]) -> list[Finding]:
    """Earliest first, but for warnings behind what ended the run, with which they have nothing to do."""
    told = by_time(tier)
    ends = {_family(finding): place for place, finding in enumerate(told) if finding.severity == "fatal"}
    aside = [
        finding for place, finding in enumerate(told) if finding.severity != "fatal" and place > ends.get(_family(finding), -1)
    ]
    return [*(finding for finding in told if finding not in aside), *aside] if ends else told


def _family(finding: Finding) -> str:
    return finding.id.partition(".")[0]


def by_time(findings: Iterable[Finding]) -> list[Finding]:
    """Earliest first. Those of one file stay in its order, whatever the clocks of its writers say."""
    files: dict[int, list[Finding]] = {}
    for finding in findings:
        files.setdefault(finding.file, []).append(finding)
    return list(merge(*(sorted(own, key=_offset) for own in files.values()), key=_moment))


def first_is_sure(first: Finding, others: Iterable[Finding]) -> bool:
    """Whether no other file has one that may have come before the first."""
    return all(other.file == first.file or _written(first).surely_before(_written(other)) for other in others)


def is_after(finding: Finding, stage: StageEvent) -> bool:
    """Whether it was written after the stage began: by place in one file, by time in two."""
    if stage.file == finding.file:
        return stage.offset < finding.offset
    return stage.at is not None and finding.written.about is not None and stage.at < finding.written.about


def began_after(stage: StageEvent, finding: Finding) -> bool:
    """Whether the stage began after the last sighting of a message."""
    if stage.file == finding.file:
        return stage.offset > finding.last_offset
    return stage.at is not None and finding.last_at is not None and stage.at > finding.last_at


def _with_doubt(tier: Sequence[Finding]) -> Sequence[Finding]:
    rivals = [finding for finding in tier[1:] if finding.severity == tier[0].severity]
    if tier[0].doubt in ("order", "attempt") or first_is_sure(tier[0], rivals):
        return tier
    return (replace(tier[0], doubt="order"), *tier[1:])


def _moment(finding: Finding) -> tuple[float, float, str, str]:
    """When it was written as far as known, else by when; what is written there decides between equals."""
    written = _written(finding)
    known = (at for at in (written.about, written.not_after) if at is not None)
    return next(known, float("inf")), float("inf") if finding.rank is None else finding.rank, finding.id, finding.text


def _written(finding: Finding) -> WrittenAt:
    """A recording of an older hangtop has nothing but the message's own time."""
    return at_once(finding.at) if finding.written == WrittenAt() else finding.written


def _offset(finding: Finding) -> int:
    return finding.offset
