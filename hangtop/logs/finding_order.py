"""The one order of findings: every list of findings keeps it, and a verdict rests on the first one. Pure.

This attempt comes before older ones; then what may have ended the run before what it survived and what never ends a run; then
causes, victims, consequences, summaries; then a warning comes behind what ended the run, unless it was written before a message
of its own family; then by time. Offsets order the findings of one file only: between files the time decides (`Finding.written`),
and if it does not, the first finding carries a `doubt`. The numbers of files, and the order in which they were named, never
count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import merge

from msgspec.structs import replace

from hangtop.records.log import ROLES, TRACEBACK, Finding, StageEvent, WrittenAt, at_once

Tier = tuple[int, int, int, bool]

HARMLESS = ("", "none", "slow")
"""Values of `hang` in a signature whose message never ends a run or holds it up."""

FRAMES = (TRACEBACK, "ray.task_error")
"""What only stands around an exception: the traceback, and Ray's that raises the same again in the driver."""


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings in their order."""
    tiers: dict[Tier, list[Finding]] = {}
    for finding in findings:
        tiers.setdefault(tier_of(finding), []).append(finding)
    return tuple(finding for tier in sorted(tiers) for finding in _with_doubt(_in_tier(tiers[tier])))


def tier_of(finding: Finding) -> Tier:
    """What counts before the time. Lower tiers come first."""
    says_little = finding.id in FRAMES and finding.role == "summary"  # less than any page on one of its lines
    return -finding.attempt, _weight(finding), ROLES.index(finding.role), says_little


def _weight(finding: Finding) -> int:
    """0 for a finding that may explain the state of the run, 1 for a warning that does not, 2 for a hint."""
    if finding.severity == "hint":
        return 2
    return int(finding.severity == "warning" and (finding.survived or finding.hang in HARMLESS))


def _in_tier(tier: Sequence[Finding]) -> list[Finding]:
    """Earliest first, but a warning comes behind what ended the run if it has nothing to do with it."""
    told = by_time(tier)
    ends = {_family(finding): place for place, finding in enumerate(told) if finding.severity == "fatal"}
    aside = [finding.severity != "fatal" and place > ends.get(_family(finding), -1) for place, finding in enumerate(told)]
    return [finding for wanted in (False, True) for finding, is_aside in zip(told, aside, strict=True) if is_aside is wanted]


def _family(finding: Finding) -> str:
    return finding.id.partition(".")[0]


def by_time(findings: Iterable[Finding]) -> list[Finding]:
    """Earliest first. Findings of one file stay in its order, whatever the clocks of its writers say."""
    files: dict[int, list[Finding]] = {}
    for finding in findings:
        files.setdefault(finding.file, []).append(finding)
    return list(merge(*(sorted(own, key=lambda finding: finding.offset) for own in files.values()), key=_moment))


def first_is_sure(first: Finding, others: Iterable[Finding]) -> bool:
    """Whether no finding of another file may have come before the first."""
    return all(other.file == first.file or _written(first).surely_before(_written(other)) for other in others)


def came_before(first: Finding, other: Finding) -> bool:
    """Whether the first was surely written before the other: by offset in one file, by time in two."""
    if first.file == other.file:
        return first.offset < other.offset
    return _written(first).surely_before(_written(other))


def is_after(finding: Finding, stage: StageEvent) -> bool:
    """Whether the finding was written after the stage began: by offset in one file, by time in two."""
    if stage.file == finding.file:
        return stage.offset < finding.offset
    return stage.at is not None and finding.written.about is not None and stage.at < finding.written.about


def began_after(stage: StageEvent, finding: Finding) -> bool:
    """Whether the stage began after the last occurrence of the message."""
    if stage.file == finding.file:
        return stage.offset > finding.last_offset
    return stage.at is not None and finding.last_at is not None and stage.at > finding.last_at


def _with_doubt(tier: Sequence[Finding]) -> Sequence[Finding]:
    rivals = [finding for finding in tier[1:] if finding.severity == tier[0].severity]
    if tier[0].doubt in ("order", "attempt") or first_is_sure(tier[0], rivals):
        return tier
    return (replace(tier[0], doubt="order"), *tier[1:])


def _moment(finding: Finding) -> tuple[float, float, str, str]:
    """The sort key: when the finding was written, else the latest time it can have been; ties go by rank, id and text."""
    written = _written(finding)
    known = (at for at in (written.about, written.not_after) if at is not None)
    return next(known, float("inf")), float("inf") if finding.rank is None else finding.rank, finding.id, finding.text


def _written(finding: Finding) -> WrittenAt:
    """A recording by an older hangtop has only the time in the message."""
    return at_once(finding.at) if finding.written == WrittenAt() else finding.written
