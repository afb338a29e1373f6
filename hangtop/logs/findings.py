"""The findings of all files of a run as one list: the same message in several files is one finding, with attempt and advice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from hangtop.logs.attempts import Attempts
from hangtop.logs.catalog.load import Catalog
from hangtop.logs.catalog.profile import Profile
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.finding_order import began_after, by_time, first_is_sure, in_order, tier_of
from hangtop.records.log import TRACEBACK, Finding, StageEvent, at_once

BESIDE_BYTES = 2_048
"""The lines of one exception are at most this far apart."""
_NUMBER = re.compile(r"\d+")


def findings_of(
    facts: Sequence[FileFacts],
    attempts: Attempts,
    catalog: Catalog,
    profiles: Sequence[Profile],
    stages: Sequence[StageEvent] = (),
) -> tuple[Finding, ...]:
    """All findings, in the order of `finding_order`; an error that the run survived is a hint. `stages`: the course of the
    run."""
    found: dict[tuple[str, int], list[Finding]] = {}
    for file in facts:
        for finding in file.findings:
            written = file.times.get(finding.offset) or at_once(finding.at)
            attempt, sure = attempts.number(file.file, finding.offset, written)
            placed = replace(
                _advised(finding, catalog, profiles),
                attempt=attempt,
                severity="hint" if finding.severity == "fatal" and finding.survived else finding.severity,
                written=written,
                doubt="" if sure else "attempt",
            )
            found.setdefault((finding.id, attempt), []).append(placed)
    proven = {(finding.file, finding.offset) for alike in found.values() for finding in alike}
    moves = [stage for stage in stages if (stage.file, stage.offset) not in proven]
    together = [_with_fate(_together(alike), moves) for alike in found.values()]
    return in_order(_explained(finding, together, catalog) for finding in together)


def _explained(finding: Finding, others: Iterable[Finding], catalog: Catalog) -> Finding:
    """The finding as a summary, if the same rank says more in another one: before the report of its death what it died of, or
    beside the mere kind of a fault the fault itself."""
    signature = catalog.signatures.get(finding.id)
    if signature is None or not (signature.general or (signature.obituary and finding.rank is not None)):
        return finding
    told = (
        other
        for other in others
        if other.id != finding.id
        and other.rank == finding.rank
        and (other.attempt, other.file, other.severity) == (finding.attempt, finding.file, "fatal")
    )
    if signature.general:
        better = any(abs(other.offset - finding.offset) <= BESIDE_BYTES and _names_the_fault(other, catalog) for other in told)
    else:
        better = any(other.offset < finding.offset for other in told)
    return replace(finding, role="summary") if better else finding


def _names_the_fault(finding: Finding, catalog: Catalog) -> bool:
    signature = catalog.signatures.get(finding.id)
    return signature is not None and finding.id != TRACEBACK and signature.role == "cause" and not signature.general


def _with_fate(finding: Finding, moves: Sequence[StageEvent]) -> Finding:
    """A warning was survived too if the run went on to another stage after it."""
    went_on = any(stage.attempt == finding.attempt and began_after(stage, finding) for stage in moves)
    return replace(finding, survived=True) if went_on and finding.severity == "warning" else finding


def _together(alike: Sequence[Finding]) -> Finding:
    """The same message in several files: the earliest finding leads that the run did not survive."""
    first, *others = by_time(alike)
    if not others:
        return first
    least = min(map(tier_of, alike))
    first, *rivals = by_time(finding for finding in alike if tier_of(finding) == least)
    doubt = first.doubt
    if not doubt and not first_is_sure(first, rivals):
        doubt = "rank" if len({_NUMBER.sub("", finding.text) for finding in (first, *rivals)}) == 1 else "order"
    return replace(
        first,
        count=sum(finding.count for finding in alike),
        ranks=tuple(sorted({rank for finding in alike for rank in finding.ranks})),
        doubt=doubt,
    )


def _advised(finding: Finding, catalog: Catalog, profiles: Sequence[Profile]) -> Finding:
    """The finding with what to do in a run of these frameworks, what the usual advice gets wrong, and the source of both."""
    signature = catalog.signatures.get(finding.groups.get("kind", finding.id))
    if signature is None:
        return finding
    names = {name for profile in profiles for name in (profile.name, profile.framework)}
    remedies = tuple(fix.remedy() for fix in signature.fixes(names))
    return replace(finding, remedies=remedies, folklore=signature.folklore, cite=signature.cite)
