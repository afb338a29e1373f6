"""Weights that are saved before a run ends, by processes which agreed to be asked (`hangtop.agent`). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hangtop.records.plan import EvidenceCommand, Plan
from hangtop.records.process import Process

ASK = ("eval", "--ask", "checkpoint")
SAVE_S, MARGIN_S = 600.0, 30.0
"""So long a process may write its part; the command that waits for all of them has a little more."""


def saving(ours: Iterable[Process], newest_ticks: int) -> EvidenceCommand | None:
    """What asks each rank that can answer for a file of its weights; `None` where nobody can.

    `newest_ticks`: start of the youngest process that is known; a later one has the number of another. Copies of one model (DDP)
    are saved once, if each rank can answer.
    """
    known = [process for process in ours if not process.exited]
    ranks = [process for process in known if process.rank is not None]
    able = [process for process in ranks or known if process.can_be_asked and process.state not in "tTD"]
    if not able:
        return None
    pids = [word for process in able for word in ("--pid", str(process.pid))]
    once = ["--set", "copies=no"] if len(able) == len(ranks) else []
    limits = ["--within", f"{SAVE_S:.0f}", "--born-by", str(newest_ticks), "--yes"]
    return EvidenceCommand((*ASK, *once, *limits, *pids), "weights", SAVE_S + MARGIN_S, needed=True)


def saved_first(plan: Plan, folder: str) -> Plan:
    """The plan, with what saves the weights into this folder as the last thing before the first signal."""
    if plan.saving is None:
        return plan
    place = ("--set", f"path={folder.rstrip('/')}/")
    command = replace(plan.saving, words=(*ASK, *place, *plan.saving.words[len(ASK) :]))
    return replace(plan, evidence=(*plan.evidence, command), saving=None)
