"""The rule over members that wait to meet: which ranks are missing, and is the master reachable?"""

from __future__ import annotations

from hangtop.common.text import some
from hangtop.diagnosis.facts.missing_ranks import missing_ranks_of
from hangtop.diagnosis.rules.verdict_builders import (
    as_culprits,
    build_culprits,
    count,
    hung_verdict,
    names,
    plural_s,
    rank_names,
    silence,
    stack_evidence,
)
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.process import Rendezvous
from hangtop.records.verdict import Culprit, Evidence, Verdict


def rendezvous(snapshot: Snapshot) -> Verdict | None:
    """Ranks wait for the process group to form: which ranks never came?

    Where more ranks are in a collective already, those in a rendezvous parted from them (`desync`).

    Stands before `vanished`: a rank without a process may not have been started yet.
    """
    meeting = [member for member in snapshot.members if member.status == "rendezvous"]
    if not snapshot.is_quiet or not meeting or sum(member.status == "collective" for member in snapshot.members) > len(meeting):
        return None
    astray = [member for member in snapshot.members if member.status in ("waits", "loops", "unknown", "dataloader")]
    if any(member.alive for member in snapshot.members):
        return None
    missing, where = _never_came(snapshot), snapshot.procs.rendezvous
    place = "" if where is None else f" at {where.address}:{where.port}"
    lost = () if where is None or not where.joined else where.missing  # others hold a connection: a wrong address, or a firewall
    apart = [member for member in meeting if member.rank in lost]
    if astray:
        culprits = build_culprits(snapshot, astray)
        headline = f"{names(astray)} never joined the process group: {astray[0].text}; {count(meeting)} wait{plural_s(meeting)}."
    elif missing:
        why = ("no such process here, and no connection of its own",)
        culprits = tuple(Culprit(rank, None, None, "likely", why) for rank in missing)
        headline = f"{rank_names(missing)} never came; {count(meeting)} wait{plural_s(meeting)} for the process group{place}."
    elif apart:
        culprits = as_culprits(apart, "likely", f"holds no connection to the meeting point{place}")
        headline = f"{names(apart)} never reached the meeting point{place}; {some(len(meeting) - len(apart), 'rank')} did."
    else:
        culprits = ()
        unseen = missing_ranks(snapshot)
        how = f"{_peers(unseen, where)}{place}{_nobody(unseen, where)}"
        headline = f"{count(meeting)} wait{plural_s(meeting)} for the process group and {how}."
    evidence = (stack_evidence(meeting), *rendezvous_evidence(snapshot), silence(snapshot))
    return hung_verdict(headline, "rendezvous", culprits, evidence, "a missing rank connects")


def missing_ranks(snapshot: Snapshot) -> list[int]:
    """Ranks of the world that have no process on the machines that are watched: they run elsewhere, or not at all."""
    worlds = [member.process.world for member in snapshot.members if member.process.world]
    here = {member.rank for member in (*snapshot.members, *snapshot.aside)} | {
        rank.rank for rank in snapshot.ranks if rank.process is not None
    }
    return [rank for rank in range(max(worlds, default=0)) if rank not in here]


def missing_elsewhere(snapshot: Snapshot) -> bool:
    """Whether the missing ranks are proven to have come from another machine: a connection of the rendezvous leads there."""
    where = snapshot.procs.rendezvous
    if where is None or where.another_listens or not missing_ranks(snapshot):
        return False
    return bool(where.from_elsewhere) or (where.listening is False and bool(where.established))


def _never_came(snapshot: Snapshot) -> list[int]:
    """The missing ranks that are proven not to have come.

    Where the run's listener is here, its connections from other machines tell how many ranks came from there: none of them,
    all of them, or some, and then nothing says which. Otherwise only the ranks that must have run on this machine are known.
    """
    unseen = missing_ranks(snapshot)
    came = None if snapshot.procs.rendezvous is None else snapshot.procs.rendezvous.from_elsewhere
    if came == 0:
        return unseen
    known = (*snapshot.members, *snapshot.aside)
    world = max((*unseen, *(member.rank for member in known if member.rank is not None)), default=-1) + 1
    gone = [rank for rank in missing_ranks_of(snapshot, known, world) if rank in unseen]
    return gone if came is None or len(gone) + came <= len(unseen) else []


def _peers(unseen: list[int], where: Rendezvous | None) -> str:
    """What is known of the ranks that are not here, where none of them is named."""
    if not unseen or where is None or where.from_elsewhere is None:
        return "no peer comes"
    return f"{some(where.from_elsewhere, 'connection')} came from other machines, where {rank_names(unseen).lower()} run"


def _nobody(unseen: list[int], where: Rendezvous | None) -> str:
    if where is None or where.listening is not False or 0 in unseen:
        return ""
    return ", where another job listens in place of rank 0" if where.another_listens else ", where nobody listens: rank 0 should"


def rendezvous_evidence(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """The meeting point of the ranks, and which of them hold a connection to it."""
    if (where := snapshot.procs.rendezvous) is None:
        return ()
    listening = {True: "the run listens", False: "nobody here listens", None: "who listens is hidden"}[where.listening]
    if where.another_listens:
        listening = "a process that is not the run's listens"
    joined = "" if where.established is None else f", {some(where.established, 'connection')}"
    world = "" if where.world is None else f" of world size {where.world}"
    return (Evidence("procs", f"{where.address}:{where.port}: {listening}{joined}{world}"),)
