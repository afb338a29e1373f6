"""A rank that needs longer than its peers for its own part of a step, by the times that each rank prints. Pure."""

from __future__ import annotations

from hangtop.common.text import pace
from hangtop.diagnosis.facts.step_time_evidence import PAGES, WORDS
from hangtop.records.step_times import StepTimes
from hangtop.records.verdict import Evidence

OWN_PAGE = "slow_rank"


def slow_rank(times: StepTimes) -> tuple[Evidence, ...]:
    """All wait for it in each collective."""
    slow = times.slow_rank
    if slow is None:
        return ()
    others = f"the others {pace(slow.others_s)} s: {WORDS[slow.part]}"
    line = f"rank {slow.rank} needs {pace(slow.own_s)} s of its own in a step, {others}"
    return (Evidence("log", line, page=PAGES[slow.part] if slow.part in ("data", "optimizer", "reward") else OWN_PAGE),)
