"""The rule over NCCL's own counts and the flight recorder: who launched fewer collectives than its peers, and stays there."""

from __future__ import annotations

from hangtop.diagnosis.facts.collective_counts import reasons, stragglers
from hangtop.diagnosis.rules.verdict_builders import hung_verdict, rank_names, silence
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.verdict import Culprit, Evidence, Verdict


def left_out(snapshot: Snapshot) -> Verdict | None:
    """By NCCL's own counts some ranks never launched the collective in which their peers wait.

    Stands before `all_wait`: NCCL's counts name a rank where all stacks show the same wait.
    """
    found = stragglers(snapshot) if snapshot.is_quiet else ()
    if not found:
        return None
    ranks = sorted({number for number, _ in found})
    pids = {rank.rank: rank.pid for rank in snapshot.ranks}
    culprits = tuple(Culprit(rank, pids.get(rank), None, "likely", reasons(snapshot, rank)) for rank in ranks)
    evidence = (*(Evidence("nccl", f"rank {number}: {one.text}") for number, one in found[:3]), silence(snapshot))
    headline = f"{rank_names(ranks)} {found[0][1].text}; the others wait."
    return hung_verdict(headline, "nccl", culprits, evidence, "its count rises")
