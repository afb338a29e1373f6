"""A lead is no proof: which of the processes that may write a log are told by a fact to be the run. Pure.

A program may name the log to upload it, and any may work in its folder. The log itself decides: a pid that stands in its lines,
or its ranks, all of which such a process has started.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from msgspec import Struct

from hangtop.diagnosis.members.rank_numbering import siblings
from hangtop.records.log import LogReading, RankLog
from hangtop.records.process import Process

LeadKind = Literal["log", "folder", "here"]
"""What leads to a process: its command line names the log, or the log's folder; or it works there. The surest first."""
KINDS: tuple[LeadKind, ...] = ("log", "folder", "here")
MOST_NAMED = 3


class Lead(Struct, frozen=True):
    """`does`: what leads to it, as a verb that follows its name."""

    kind: LeadKind
    does: str


class LogIdentity(Struct, frozen=True):
    """What the log says of its run on this machine: pids, and the numbers of ranks."""

    pids: frozenset[int] = frozenset()
    ranks: frozenset[int] = frozenset()


def told_by(log: LogReading | None, ranks: Mapping[int, RankLog], host: str) -> LogIdentity:
    """`host`: the name of this machine; a pid of another one says nothing."""
    here = (None, "", host, host.partition(".")[0])
    pids = {rank.pid for rank in ranks.values() if rank.pid is not None and rank.host in here}
    speakers = log.ray.speakers if log is not None and log.ray is not None else ()
    pids |= {speaker.pid for speaker in speakers if speaker.ip in here}
    return LogIdentity(frozenset(pids), frozenset(number for number, rank in ranks.items() if rank.lines))


def proven(leads: Mapping[int, Lead], trees: Mapping[int, Collection[Process]], told: LogIdentity) -> dict[int, str]:
    """By pid, why it is probably the run: none where no fact tells. `trees`: of each lead, it and what it has started.

    Pids are reused, and ranks have the same numbers in every run: good enough to look at, never to be stopped.
    """
    for_pid = {pid: sorted(told.pids & {process.pid for process in trees[pid]}) for pid in leads}
    if named := {pid: f"the log names pid {found[0]}" for pid, found in for_pid.items() if found}:
        return named
    crews = [pid for pid, lead in leads.items() if lead.kind == "log" and has_ranks(trees[pid], told.ranks)]
    return {crews[0]: f"it {leads[crews[0]].does}, and has the ranks of which the log tells"} if len(crews) == 1 else {}


def surest(leads: Mapping[int, Lead]) -> dict[int, Lead]:
    """The leads of the surest kind that there is."""
    kind = min((lead.kind for lead in leads.values()), key=KINDS.index, default=None)
    return {pid: lead for pid, lead in leads.items() if lead.kind == kind}


def has_ranks(tree: Collection[Process], ranks: Collection[int]) -> bool:
    """Whether all these ranks, two at least, are in the tree: by their numbers, or as so many processes that are alike."""
    if len(ranks) < 2:
        return False
    return {process.rank for process in tree}.issuperset(ranks) or len(siblings(tree, len(ranks))) == len(ranks)


def of_the_log(orphan: Process, told: LogIdentity) -> bool:
    """Whether the log tells of this process, by its pid or the number of its rank."""
    return orphan.pid in told.pids or orphan.rank in told.ranks


def taken_words(taken: Mapping[int, str]) -> str:
    """What is not seen but taken to be so."""
    pid, why = next(iter(taken.items()))
    return f"nobody holds the log open; pid {pid} is probably its writer: {why} (--pid {pid} says so for sure)"


def lead_words(leads: Mapping[int, Lead]) -> str:
    """`no process here is known to write the log; process 7 works in its folder: it may be the run`."""
    each = ", ".join(f"process {pid} {lead.does}" for pid, lead in list(leads.items())[:MOST_NAMED])
    more = f" and {len(leads) - MOST_NAMED} more" if len(leads) > MOST_NAMED else ""
    which = "it may be the run" if len(leads) == 1 else "one of these may be the run"
    return f"no process here is known to write the log; {each}{more}: {which}"
