"""What could not be looked at, with what would show it: a missing right is never a sign that all is well. And what was looked at
though it is only probably the run's. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.verdict import Evidence, Verdict

MEMBERS = ("procs", "stacks")
"""Sources of evidence that tell what processes do."""


def missing_permissions(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """Processes that may be the run, of another user or without a fact that tells, and stacks that may not be read."""
    return tuple(Evidence(source, text, None) for source, text in _missing(snapshot))


def _missing(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    procs = snapshot.procs
    if procs is not None and (procs.hidden or procs.leads) and not procs.processes and procs.note:
        yield "procs", procs.note
    if snapshot.state.looks:
        look = snapshot.state.looks[-1]
        refused = [f"{problem}: {mend}" for problem, mend in ((stack.problem, stack.mend) for stack in look.stacks) if mend]
        if refused and not any(stack.threads for stack in look.stacks):
            yield "stacks", refused[0]


def doubted(snapshot: Snapshot, verdict: Verdict) -> Verdict:
    """Where nobody is seen to write the log, those who probably do may be of another run: what they do makes nothing certain."""
    procs = snapshot.procs
    if procs is None or not procs.taken:
        return verdict
    known = {process.pid for process in procs.processes}
    why = "only probably of this run: nobody is seen to write the log"
    culprits = tuple(
        replace(culprit, confidence="possible", why=(*culprit.why, why)) if culprit.pid in known else culprit
        for culprit in verdict.culprits
    )
    rests_on_them = culprits != verdict.culprits or any(evidence.source in MEMBERS for evidence in verdict.evidence)
    if not rests_on_them:
        return verdict
    said = (Evidence("procs", procs.note, None),) if procs.note else ()
    return replace(verdict, confidence="possible", culprits=culprits, evidence=(*verdict.evidence, *said))
