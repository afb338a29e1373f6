"""The verdict: the rules of all families in one order. The first that holds names the state of the run (design §6)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from hangtop.diagnosis import feed, gone, log, process, ray_rules, waiting
from hangtop.diagnosis.case import Case, look
from hangtop.model import RunState
from hangtop.records.verdict import Verdict
from hangtop.spec import WatchSpec

Rule = Callable[[Case], Verdict | None]

RULES: tuple[Rule, ...] = (
    feed.blind,
    log.crashed,
    log.finished,
    process.writer_gone,
    gone.dead,
    gone.stopped,
    gone.blocked,
    ray_rules.dead_actor,
    ray_rules.sick,
    ray_rules.no_resources,
    waiting.rendezvous,
    waiting.dataloader,
    waiting.alive,
    ray_rules.straggler,
    waiting.desync,
    waiting.straggler,
    waiting.all_wait,
    waiting.standing_still,
    log.repeats_itself,
    log.left_behind,
    log.stalled,
    log.slow,
)


def judge(case: Case) -> Verdict:
    """The first rule that holds, or running."""
    verdict = next((said for rule in RULES if (said := rule(case)) is not None), None) or log.running(case)
    return replace(verdict, silence_s=case.silence_s, limit_s=case.limit.stalled_s, stage=case.stage_now)


def diagnose(state: RunState, spec: WatchSpec, now: float) -> Verdict:
    """The verdict at this moment."""
    return judge(look(state, spec, now))
