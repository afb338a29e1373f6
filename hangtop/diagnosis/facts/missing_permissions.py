"""What could not be looked at, with what would show it: a missing right is never a sign that all is well. And what was looked at
though it is only probably the run's. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.verdict import Evidence, Verdict

MEMBERS = ("procs", "stacks")
"""Sources of evidence that tell what processes do."""


def missing_permissions(snapshot: Snapshot) -> Iterator[Evidence]:
    """What could not be looked at, as evidence: processes that may be the run's, of another user or without a fact that tells,
    and stacks that may not be read."""
    procs = snapshot.procs
    if (procs.hidden or procs.leads) and not procs.processes and procs.note:
        yield Evidence("procs", procs.note, None)
    stacks = snapshot.state.looks[-1].stacks if snapshot.state.looks else ()
    refused = [f"{stack.problem}: {stack.mend}" for stack in stacks if stack.mend]
    if refused and not any(stack.threads for stack in stacks):
        yield Evidence("stacks", refused[0], None)


def doubted(snapshot: Snapshot, verdict: Verdict) -> Verdict:
    """The verdict, at most possible where it rests on processes that are only taken for the run's. That is so where nobody is
    seen to write the log."""
    procs = snapshot.procs
    if not procs.taken:
        return verdict
    known = {process.pid for process in procs.processes}
    why = "only probably of this run: nobody is seen to write the log"
    culprits = tuple(
        replace(culprit, confidence="possible", why=(*culprit.why, why)) if culprit.pid in known else culprit
        for culprit in verdict.culprits
    )
    if culprits == verdict.culprits and not any(evidence.source in MEMBERS for evidence in verdict.evidence):
        return verdict
    said = (Evidence("procs", procs.note, None),) if procs.note else ()
    return replace(verdict, confidence="possible", culprits=culprits, evidence=(*verdict.evidence, *said))
