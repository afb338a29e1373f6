"""Weights that are saved before a run ends, by processes which agreed to be asked (`hangtop.agent`). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from hangtop.common.text import rank_ranges
from hangtop.records.plan import EvidenceCommand, Plan
from hangtop.records.process import Process, ProcessRole

ASK = ("eval", "--ask", "checkpoint")
SAVE_S, MARGIN_S = 600.0, 30.0
"""So long a process may write its part; the command that waits for all of them has a little more."""

HELPERS: frozenset[ProcessRole] = frozenset(("data worker", "compiler"))


def saving(ours: Iterable[Process], newest_ticks: int) -> EvidenceCommand | None:
    """What asks each rank that can answer for a file of its weights; `None` where nobody can.

    `newest_ticks`: start of the youngest process that is known; a later one has the number of another. Copies of one model (DDP)
    are saved once where the ranks that are asked are the first ones without a gap: who has the first copy is one of them then.
    """
    able = [process for process in _holders(ours) if _answers(process)]
    if not able:
        return None
    pids = [word for process in able for word in ("--pid", str(process.pid))]
    numbers = sorted(process.rank for process in able if process.rank is not None)
    once = ["--set", "copies=no"] if numbers == list(range(len(able))) else []
    limits = ["--within", f"{SAVE_S:.0f}", "--born-by", str(newest_ticks), "--yes"]
    return EvidenceCommand((*ASK, *once, *limits, *pids), "weights", SAVE_S + MARGIN_S, needed=True)


def not_saved(ours: Iterable[Process], hosts: Iterable[str]) -> Iterator[str]:
    """Whose weights nobody can be asked for, where others can. `hosts`: other nodes on which the plan ends something."""
    holders = _holders(ours)
    mute = sorted({process.rank for process in holders if process.rank is not None and not _answers(process)})
    if any(map(_answers, holders)):
        if mute:
            yield f"what rank {rank_ranges(mute)} alone holds cannot be saved: its process cannot be asked"
        yield from (f"what the ranks on {host} alone hold cannot be saved: only processes here can be asked" for host in hosts)


def _holders(ours: Iterable[Process]) -> list[Process]:
    """Who may hold weights: the ranks, else all but helpers. A fork, such as a data worker, can be asked as its parent can, and
    has the weights of the moment at which it was forked."""
    known = {process.pid: process for process in ours if not process.exited and process.role not in HELPERS}
    above = {pid: known.get(process.ppid) for pid, process in known.items()}
    forks = {
        pid
        for pid, parent in above.items()
        if parent is not None and parent.can_be_asked and parent.command == known[pid].command
    }
    ranks = [process for process in known.values() if process.role == "rank" and process.rank is not None]
    return ranks or [process for pid, process in known.items() if pid not in forks]


def _answers(process: Process) -> bool:
    return process.can_be_asked and process.state not in "tTD"


def saved_first(plan: Plan, folder: str) -> Plan:
    """The plan, with what saves the weights into this folder as the last thing before the first signal."""
    if plan.saving is None:
        return plan
    place = ("--set", f"path={folder.rstrip('/')}/")
    command = replace(plan.saving, words=(*ASK, *place, *plan.saving.words[len(ASK) :]))
    return replace(plan, evidence=(*plan.evidence, command), saving=None)
