"""Which of the processes that may write a log are proven to be the run. Pure.

A lead is no proof: a program may name the log to upload it, and any program may work in its folder. The log itself proves: by a
pid in its lines, or by its ranks, if one process has started all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from msgspec import Struct

from hangtop.diagnosis.members.rank_numbering import siblings
from hangtop.records.log import LogReading, RankLog
from hangtop.records.process import Process

LeadKind = Literal["log", "folder", "here"]
"""What leads to a process: its command line names the log, or the log's folder, or it works in the folder. The surest first."""
KINDS: tuple[LeadKind, ...] = ("log", "folder", "here")
MOST_NAMED = 3


class Lead(Struct, frozen=True):
    """`does`: what leads to it, as the verb of a sentence."""

    kind: LeadKind
    does: str


class LogIdentity(Struct, frozen=True):
    """What the log tells of its run on this machine: pids, and numbers of ranks."""

    pids: frozenset[int] = frozenset()
    ranks: frozenset[int] = frozenset()


def told_by(log: LogReading | None, ranks: Mapping[int, RankLog], host: str) -> LogIdentity:
    """`host`: the name of this machine; pids of other machines are left out."""
    here = (None, "", host, host.partition(".")[0])
    pids = {rank.pid for rank in ranks.values() if rank.pid is not None and rank.host in here}
    speakers = log.ray.speakers if log is not None and log.ray is not None else ()
    pids |= {speaker.pid for speaker in speakers if speaker.ip in here}
    return LogIdentity(frozenset(pids), frozenset(number for number, rank in ranks.items() if rank.lines))


def proven(leads: Mapping[int, Lead], trees: Mapping[int, Collection[Process]], identity: LogIdentity) -> dict[int, str]:
    """By pid, why it is probably the run. `trees`: by pid, each lead with its descendants.

    Pids are reused, and ranks have the same numbers in every run: this is good enough to show a process, never to stop it.
    """
    for_pid = {pid: sorted(identity.pids & {process.pid for process in trees[pid]}) for pid in leads}
    if named := {pid: f"the log names pid {found[0]}" for pid, found in for_pid.items() if found}:
        return named
    with_ranks = [pid for pid, lead in leads.items() if lead.kind == "log" and has_ranks(trees[pid], identity.ranks)]
    if len(with_ranks) != 1:
        return {}
    return {with_ranks[0]: f"it {leads[with_ranks[0]].does}, and has the ranks of which the log tells"}


def surest(leads: Mapping[int, Lead]) -> dict[int, Lead]:
    """The leads of the surest kind that there is."""
    kind = min((lead.kind for lead in leads.values()), key=KINDS.index, default=None)
    return {pid: lead for pid, lead in leads.items() if lead.kind == kind}


def has_ranks(tree: Collection[Process], ranks: Collection[int]) -> bool:
    """Whether all these ranks, at least two, are in the tree: by their numbers, or as that many similar processes."""
    if len(ranks) < 2:
        return False
    return {process.rank for process in tree}.issuperset(ranks) or len(siblings(tree, len(ranks))) == len(ranks)


def of_the_log(orphan: Process, identity: LogIdentity) -> bool:
    """Whether the log names this process, by its pid or its rank."""
    return orphan.pid in identity.pids or orphan.rank in identity.ranks


def taken_words(taken: Mapping[int, str]) -> str:
    """How to say that a process is taken for the writer."""
    pid, why = next(iter(taken.items()))
    return f"nobody holds the log open; pid {pid} is probably its writer: {why} (--pid {pid} says so for sure)"


def lead_words(leads: Mapping[int, Lead]) -> str:
    """`no process here is known to write the log; process 7 works in its folder: it may be the run`."""
    each = ", ".join(f"process {pid} {lead.does}" for pid, lead in list(leads.items())[:MOST_NAMED])
    more = f" and {len(leads) - MOST_NAMED} more" if len(leads) > MOST_NAMED else ""
    which = "it may be the run" if len(leads) == 1 else "one of these may be the run"
    return f"no process here is known to write the log; {each}{more}: {which}"
