"""What a run that goes on, or is slow, tells of itself beside its verdict: hints that change no verdict. Pure."""

from __future__ import annotations

from hangtop.diagnosis.facts.gpu_evidence import lasting_evidence
from hangtop.diagnosis.facts.gpu_load import gpu_load
from hangtop.diagnosis.facts.heavy_parts import heavy_parts, long_backward
from hangtop.diagnosis.facts.host_signals import sent_again, slow_signals
from hangtop.diagnosis.facts.learning_hints import learning_hints
from hangtop.diagnosis.facts.machine_evidence import stall_evidence
from hangtop.diagnosis.facts.slow_messages import slow_messages
from hangtop.diagnosis.facts.slow_rank import slow_rank
from hangtop.diagnosis.facts.stage_shares import stage_evidence
from hangtop.diagnosis.facts.start_up import long_stage
from hangtop.diagnosis.facts.step_time_evidence import breakdown, grown, grown_parts, seen_parts, slower
from hangtop.diagnosis.facts.tcp_between_nodes import tcp_between_nodes
from hangtop.diagnosis.facts.uneven_steps import uneven_steps
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.verdict import Evidence

MOST = 3
"""Lines beside a verdict; all of them are on the page that tells why."""


def beside_verdict(snapshot: Snapshot, *, slow: bool) -> tuple[Evidence, ...]:
    """The gravest hints. `slow`: what the whole machine waits for is told too, and where nothing has changed, what takes most of
    the time. Of a run that is slower than it was, and whose log does not tell in which part, where its ranks were seen."""
    told = hints(snapshot, slow=slow)
    by_log = any(fact.source == "log" for fact in told)
    usual = shares(snapshot) if slow and not by_log else ()
    stalls = (*stall_evidence(snapshot.state.machine), *machine_slow(snapshot)) if slow or by_log else ()
    seen = seen_parts(snapshot) if slower(snapshot.log) and not snapshot.log.step_times.parts else None
    return (*((seen,) if seen is not None and not slow else ()), *told, *stalls, *usual)[:MOST]


def hints(snapshot: Snapshot, *, slow: bool = False) -> tuple[Evidence, ...]:
    """All that is unusual. Of a run that is `slow` GPUs say it beside the verdict's own evidence."""
    idle = () if slow else lasting_evidence(snapshot.state, snapshot.now)
    load = gpu_load(snapshot.state, snapshot.now) if snapshot.log.progress.step is not None else ()
    times = snapshot.log.step_times
    heavy = tuple(heavy_parts(times, grown_parts(times)))
    heavy = heavy or tuple(long_backward(times))
    uneven = () if heavy else uneven_steps(snapshot)
    told = slow_messages(snapshot)  # which name one cause; that some steps are longer has many
    slowed = (*grown(snapshot), *slow_rank(times), *heavy, *tcp_between_nodes(snapshot), *told, *uneven)
    return (*slowed, *learning_hints(snapshot.log.progress), *long_stage(snapshot), *idle, *load)


def machine_slow(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """What of the machine's signals slows a run down."""
    ranks = {member.pid: member.rank for member in snapshot.members if member.rank is not None}
    return (*slow_signals(snapshot.state.signals, ranks), *sent_again(snapshot.state, ranks))


def shares(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """Where the time goes, by the step times of the log, else by its stages, else by where the ranks were seen."""
    told = breakdown(snapshot.log) or stage_evidence(snapshot.log) or seen_parts(snapshot)
    return () if told is None else (told,)
