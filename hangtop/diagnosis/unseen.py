"""What could not be looked at, with what would show it: a missing right is never a sign that all is well. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from hangtop.diagnosis.case import Case
from hangtop.records.verdict import Evidence


def unseen(case: Case) -> tuple[Evidence, ...]:
    """Processes of another user that may be the run, and stacks that may not be read."""
    return tuple(Evidence(source, text, None) for source, text in _missing(case))


def _missing(case: Case) -> Iterator[tuple[str, str]]:
    procs = case.procs
    if procs is not None and procs.hidden and not procs.processes and procs.note:
        yield "procs", procs.note
    if case.state.looks:
        look = case.state.looks[-1]
        refused = [f"{problem}: {mend}" for problem, mend in ((one.problem, one.mend) for one in look.stacks) if mend]
        if refused and not any(stack.threads for stack in look.stacks):
            yield "stacks", refused[0]
