"""The verdict: the rules of all families in one order. The first that holds names the state of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from hangtop.diagnosis.facts.gpu_evidence import gpu_evidence
from hangtop.diagnosis.facts.leftover_members import with_leftovers
from hangtop.diagnosis.facts.machine_evidence import host_evidence
from hangtop.diagnosis.facts.own_past import beside_verdict
from hangtop.diagnosis.rules import (
    collective_rules,
    crash_rules,
    cut_off_rules,
    dataloader_rules,
    dead_rank_rules,
    end_rules,
    gpu_rules,
    idle_rules,
    launcher_rules,
    lease_rules,
    log_health_rules,
    log_rules,
    other_end_rules,
    ray_call_rules,
    ray_rules,
    ray_start_rules,
    rendezvous_rules,
    shell_rules,
    taker_rules,
    wait_rules,
)
from hangtop.diagnosis.snapshot import Snapshot, take_snapshot
from hangtop.diagnosis.sources_seen import stacks_refused
from hangtop.records.verdict import Evidence, Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

Rule = Callable[[Snapshot], Verdict | None]
"""What one thing that may be the matter looks like. Its docstring ends with "Stands before `other_rule`: …"."""

RULES: tuple[Rule, ...] = (
    log_health_rules.blind,
    end_rules.by_you,
    shell_rules.tries_again,
    crash_rules.crashed,
    end_rules.died,
    shell_rules.never_comes_to,
    shell_rules.rests_between_parts,
    end_rules.finished,
    end_rules.copy_ended,
    end_rules.writer_gone,
    end_rules.broke_off,
    end_rules.left_with_words,
    ray_rules.driver_gone,
    end_rules.pipe_closed,
    gpu_rules.driver_hung,
    dead_rank_rules.dead,
    dead_rank_rules.stopped,
    gpu_rules.failed,
    dead_rank_rules.blocked,
    ray_rules.dead_actor,
    ray_rules.sick,
    ray_rules.no_resources,
    ray_start_rules.starting,
    log_rules.announced,
    idle_rules.prompt,
    rendezvous_rules.rendezvous,
    launcher_rules.agents_meet,
    dataloader_rules.dataloader,
    cut_off_rules.cut_off,
    wait_rules.alive,
    ray_call_rules.works_elsewhere,
    dead_rank_rules.vanished,
    wait_rules.nobody_builds,
    collective_rules.desync,
    taker_rules.nobody_takes,
    other_end_rules.dead_lock,
    other_end_rules.out_of_sight,
    lease_rules.gives_anew,
    other_end_rules.gathering,
    other_end_rules.held_up,
    wait_rules.straggler,
    ray_rules.leader_alone,
    ray_call_rules.queue_stands,
    ray_call_rules.call_stands,
    ray_rules.actor_apart,
    collective_rules.left_out,
    collective_rules.all_wait,
    gpu_rules.spins,
    ray_call_rules.calls_in_a_ring,
    idle_rules.idle,
    idle_rules.left_to_serve,
    wait_rules.standing_still,
    log_rules.repeats_itself,
    log_rules.left_behind,
    log_rules.never_ended,
    log_rules.stalled,
    log_rules.slow,
    dead_rank_rules.lost_one,
)
"""The one order of all rules. RULES.md beside this file tells the reasons; `python -m tests.make_rules` writes it."""

CALM = frozenset({"running", "finished", "blind", "crashed"})
"""Verdicts to which the GPUs add nothing."""
GOES_ON = frozenset({"running", "slow"})
"""Verdicts beside which the run's own past is told."""
UNEXPLAINED = frozenset({"stalled", "slow"})
"""Verdicts that what could not be looked at might explain."""
OF_MEMBERS = ("procs", "stacks")
"""Sources of evidence that tell what processes do."""


def judge(snapshot: Snapshot, *, watched: bool = True) -> Verdict:
    """The first rule that holds, or running. `watched`: what the members wait for was looked at, or will not be; until then no
    stack proves that anybody waits in vain, and who is stopped may be let go on."""
    holding = (said for said in _holding(snapshot) if watched or not _needs_watch(said))
    said = next(holding, None) or log_rules.running(snapshot)
    verdict = launcher_rules.with_restart(snapshot, dead_rank_rules.as_death(snapshot, said))
    verdict = with_leftovers(snapshot.state, verdict)
    verdict = ray_rules.with_sick_parts(snapshot, _doubted(snapshot, verdict))
    evidence = _with_host(snapshot, verdict.evidence if said.word in CALM else _with_gpus(snapshot, verdict.evidence))
    if verdict.word in GOES_ON:
        own = beside_verdict(snapshot, slow=verdict.word == "slow")
        evidence = (*evidence, *(fact for fact in own if fact not in evidence))
    if verdict.word in UNEXPLAINED:
        evidence = (*evidence, *(missing for missing in _not_seen(snapshot) if missing.text not in verdict.headline))
    verdict = replace(
        verdict, evidence=evidence, silence_s=snapshot.silence_s, limit_s=snapshot.limit.stalled_s, stage=snapshot.stage_now
    )
    return end_rules.with_passage(snapshot, verdict)


def _holding(snapshot: Snapshot) -> Iterator[Verdict]:
    """What the rules that hold say, in their order, each with the rule's name."""
    return (replace(said, rule=rule.__name__) for rule in RULES if (said := rule(snapshot)) is not None)


def _needs_watch(verdict: Verdict) -> bool:
    return verdict.word == "hung" and (verdict.kind == "stopped" or any(fact.source == "stacks" for fact in verdict.evidence))


def _with_gpus(snapshot: Snapshot, evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """What the GPUs say, beside what the rule found; a rule over GPUs has said it already."""
    if any(fact.source == "gpu" for fact in evidence):
        return evidence
    return (*evidence[:-1], *gpu_evidence(snapshot.state, snapshot.now)[:2], *evidence[-1:])


def _with_host(snapshot: Snapshot, evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """What the machine says, which no rule but that of the dead asks."""
    sources = {fact.source for fact in evidence}
    return evidence if "host" in sources else (*evidence, *host_evidence(snapshot.state, snapshot.now)[:2])


def _not_seen(snapshot: Snapshot) -> Iterator[Evidence]:
    """What could not be looked at, with what would show it: a missing right is never a sign that all is well. Processes that may
    be the run's, of another user or without a fact that tells, and stacks that may not be read."""
    procs = snapshot.procs
    if procs.note and not procs.processes:
        yield Evidence("procs", procs.note, None)
    if (refused := stacks_refused(snapshot.state)) is not None:
        yield Evidence("stacks", refused, None)


def _doubted(snapshot: Snapshot, verdict: Verdict) -> Verdict:
    """The verdict, at most possible where it rests on processes that are only taken for the run's (nobody is seen to write the
    log), or where no stack may be read, and nothing explains the silence."""
    procs = snapshot.procs
    if verdict.word in UNEXPLAINED and not verdict.culprits and stacks_refused(snapshot.state) is not None:
        verdict = replace(verdict, confidence="possible")
    if not procs.taken:
        return verdict
    known = {process.pid for process in procs.processes}
    why = "only probably of this run: nobody is seen to write the log"
    culprits = tuple(
        replace(culprit, confidence="possible", why=(*culprit.why, why)) if culprit.pid in known else culprit
        for culprit in verdict.culprits
    )
    if culprits == verdict.culprits and not any(evidence.source in OF_MEMBERS for evidence in verdict.evidence):
        return verdict
    said = (Evidence("procs", procs.note, None),) if procs.note else ()
    return replace(verdict, confidence="possible", culprits=culprits, evidence=(*verdict.evidence, *said))


def diagnose(state: RunState, spec: WatchSpec, now: float) -> Verdict:
    """The verdict at this moment."""
    return judge(take_snapshot(state, spec, now))
