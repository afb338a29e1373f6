"""The findings of all files of a run as one list: the same message in several files is one finding, with attempt and advice."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from hangtop.logs.attempts import Attempts
from hangtop.logs.catalog.load import Catalog
from hangtop.logs.catalog.profile import Profile
from hangtop.logs.catalog.signature import Signature
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.finding_order import began_after, by_time, came_before, first_is_sure, in_order, tier_of
from hangtop.records.log import TRACEBACK, Finding, StageEvent, at_once

BESIDE_BYTES = 2_048
"""The lines of one exception are at most this far apart."""
PASSED_ON_BYTES = 65_536
"""So much may be passed on of other workers meanwhile."""
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


def _explained(finding: Finding, others: Sequence[Finding], catalog: Catalog) -> Finding:
    """The finding as a summary, if another one says more of the same; as a consequence, if another one made it."""
    signature = catalog.signatures.get(finding.groups.get("kind", finding.id))
    if signature is None:
        return finding
    told = [other for other in others if other.id != finding.id and (other.attempt, other.severity) == (finding.attempt, "fatal")]
    own = [other for other in told if other.file == finding.file]
    if any(_says_more(other, finding, signature, catalog) for other in own):
        return replace(finding, role="summary")
    if any(came_before(other, finding) and _makes(other, signature, catalog) for other in told):
        return replace(finding, role="consequence")
    if finding.is_wait and any(came_before(finding, other) and _is_fault(other, catalog) for other in told):
        return replace(finding, role="evidence")
    return finding


def _says_more(other: Finding, finding: Finding, signature: Signature, catalog: Catalog) -> bool:
    """Whether another message of the same file tells what this one leaves open: what the rank died of, the fault beside the mere
    kind of a fault, what failed further in."""
    ahead = finding.offset - other.offset
    last_ahead = finding.last_offset - other.offset  # a wrapper may come again behind the reason
    same = other.rank == finding.rank
    if signature.general and same and abs(ahead) <= BESIDE_BYTES and _names_the_fault(other, catalog):
        return not _may_follow(other, finding, catalog)
    if signature.obituary and ((finding.rank is not None and same and ahead > 0) or _is_own_word(other, finding, catalog)):
        return True
    near = same or None in (other.rank, finding.rank)
    return signature.wrapper and near and max(ahead, last_ahead) >= -BESIDE_BYTES and _is_told(other, catalog)


def _may_follow(other: Finding, finding: Finding, catalog: Catalog) -> bool:
    """Whether the other message came later, and such messages follow from what this one says: it explains nothing then."""
    signature = catalog.signatures.get(other.id)
    return signature is not None and came_before(finding, other) and _makes(finding, signature, catalog)


def _is_own_word(other: Finding, finding: Finding, catalog: Catalog) -> bool:
    """Whether a process said itself of what it died. Ray passes on what a worker wrote up to a second later than that its raylet
    missed it, so that the order of the lines tells nothing."""
    passed_on = abs(other.offset - finding.offset) <= PASSED_ON_BYTES
    signature = catalog.signatures.get(other.id)
    is_its = passed_on and finding.pid is not None and finding.pid == other.pid
    return is_its and signature is not None and not signature.obituary and _names_the_fault(other, catalog)


def _makes(other: Finding, signature: Signature, catalog: Catalog) -> bool:
    """Whether a message like `other`, if it came first, made this one."""
    for name in signature.follows:
        if name in ("*", other.id) or (name.endswith(".") and other.id.startswith(name)):
            return name != "*" or _is_fault(other, catalog)
    return False


def _is_told(finding: Finding, catalog: Catalog) -> bool:
    """Whether it tells something of its own: a fault, if only its kind, or who waited for whom."""
    signature = catalog.signatures.get(finding.groups.get("kind", finding.id))
    return signature is not None and finding.role in ("cause", "victim", "evidence") and not signature.wrapper


def _is_fault(finding: Finding, catalog: Catalog) -> bool:
    return finding.role == "cause" and _is_told(finding, catalog)


def _names_the_fault(finding: Finding, catalog: Catalog) -> bool:
    signature = catalog.signatures.get(finding.id)
    return signature is not None and finding.id != TRACEBACK and not signature.general and _is_fault(finding, catalog)


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
    fixes = signature.fixes(names) or signature.fix  # a message of a framework that nothing else in the log tells
    remedies = tuple(fix.remedy() for fix in fixes)
    return replace(finding, remedies=remedies, folklore=signature.folklore, cite=signature.cite)
