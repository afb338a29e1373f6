"""Rules over NCCL's own counts and the flight recorder: who launched fewer collectives than its peers, and stays there."""

from __future__ import annotations

from hangtop.diagnosis.case import Case
from hangtop.diagnosis.collectives import Behind, behind, behind_in_flight
from hangtop.records.verdict import Culprit, Evidence, Verdict
from hangtop.text import duration, rank_ranges


def stragglers(case: Case) -> tuple[tuple[int | None, Behind], ...]:
    """Members of this run that are behind and stuck, each with its rank in the run.

    NCCL's counts differ in any run in motion, so only what stood still over two looks counts; its port also tells of other jobs,
    so only pids of this run count. A flight recorder dump counts when it was written after the last output.
    """
    looks = case.state.nccl
    if not looks:
        return ()
    rank_of = {rank.pid: rank.rank for rank in case.ranks if rank.pid is not None}
    before = looks[-2].communicators if len(looks) > 1 else ()
    stuck = [(rank_of[one.pid], one) for one in behind(looks[-1].communicators, before) if one.frozen and one.pid in rank_of]
    since = case.log.last_output_at or 0.0
    dumps = [dump for dump in looks[-1].dumps if dump.at >= since]
    flying = [(one.rank, one) for one in behind_in_flight(dumps)]
    return (*stuck, *flying)


def reasons(case: Case, rank: int | None) -> list[str]:
    """What NCCL says of this rank."""
    return [one.text for number, one in stragglers(case) if number == rank and rank is not None]


def left_out(case: Case) -> Verdict | None:
    """Ranks that never launched the collective in which their peers wait (lowest count per communicator)."""
    found = stragglers(case) if case.is_quiet else ()
    if not found:
        return None
    ranks = sorted({number for number, _ in found if number is not None})
    pids = {rank.rank: rank.pid for rank in case.ranks}
    culprits = tuple(Culprit(rank, pids.get(rank), None, "likely", tuple(reasons(case, rank))) for rank in ranks)
    first = found[0][1]
    return Verdict(
        word="hung",
        headline=f"Rank{'s' if len(ranks) > 1 else ''} {rank_ranges(ranks)} {first.text}; the others wait.",
        refute="its count rises",
        kind="nccl",
        confidence="likely",
        culprits=culprits,
        evidence=(
            *(Evidence("nccl", f"rank {number}: {one.text}") for number, one in found[:3]),
            Evidence("log", f"silent since {case.silent_since}, limit {duration(case.quiet_s)}"),
        ),
        next=(("s", "stacks"),),
    )
