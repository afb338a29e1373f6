"""The GPUs as evidence for a verdict. Texts hold clock times, never ages: they stand still while nothing changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from hangtop.common.median import median
from hangtop.common.text import clock, numbered, some
from hangtop.diagnosis.facts import gpu_outliers
from hangtop.diagnosis.facts.gpu_outliers import GpuFact
from hangtop.diagnosis.members.rank_gpus import of_run
from hangtop.records.gpu import Gpu, NodeGpus
from hangtop.records.verdict import Evidence
from hangtop.state.run_state import RunState

SAID_ELSEWHERE = ("no answer", "idle", "busy-wait", "not supported", "no permission", "late")
"""Facts that the lines on answers and on work tell, or that say only how the values were read."""
SAID_OF_ONE = 3
"""With more GPUs than that in the same trouble, only their numbers are said."""


def gpu_evidence(state: RunState, now: float) -> tuple[Evidence, ...]:
    """Evidence from the GPUs, gravest first: no answer, then busy-waiting or idle, then whatever else stands out. `supports`:
    for a hang."""
    hosts: dict[tuple[str, bool], list[str]] = {}
    for host, node in state.gpus.items():
        mine = of_run(state, host)
        of_the_run = [fact for fact in gpu_outliers.facts(node, now, mine) if mine is None or fact.index in mine]
        for line in (*_silent(node), *_works(node, now, mine), *_others(of_the_run)):
            hosts.setdefault(line, []).append(host)
    evidence = []
    for (text, supports), where in sorted(hosts.items(), key=lambda line: len(line[1])):  # first what is said of one node alone
        nodes = where[0] if len(where) == 1 else some(len(where), "node")
        evidence.append(Evidence("gpu", f"{nodes}: {text}" if len(state.gpus) > 1 else text, supports))
    return tuple(evidence)


def lasting_evidence(state: RunState, now: float) -> tuple[Evidence, ...]:
    """GPUs that have no part in a run that goes on: it may well be meant so."""
    return tuple(
        Evidence("gpu", f"{f'{host}: ' if len(state.gpus) > 1 else ''}{numbered('GPU', indices)} {text}", None)
        for host, node in state.gpus.items()
        for text, indices in _alike(gpu_outliers.lasting(node, now, of_run(state, host) or ()))
    )


def _alike(found: Iterable[GpuFact]) -> Iterable[tuple[str, Sequence[int]]]:
    """Each text once, with its GPUs."""
    by_text: dict[str, list[int]] = {}
    for fact in found:
        by_text.setdefault(fact.text, []).append(fact.index)
    return by_text.items()


def _silent(node: NodeGpus) -> Iterable[tuple[str, bool]]:
    reading = node.reading
    if reading.stuck_in and reading.stuck_since is not None:
        yield f"the {reading.vendor} driver gives no answer since {clock(reading.stuck_since)}: {reading.stuck_in}", True
        return
    silent = [gpu for gpu in reading.gpus if gpu.status == "no answer" and gpu.since]
    silent.sort(key=lambda gpu: gpu.since or 0.0)
    if not silent:
        return
    first = [gpu for gpu in silent if clock(gpu.since) == clock(silent[0].since)]
    rest = silent[len(first) :]
    whole = " (the whole driver)" if reading.stuck_since else ""
    others = f", {_named(rest)} since {clock(rest[0].since)}" if rest else ""
    yield f"{_named(first)} silent since {clock(first[0].since)}{others}{whole}", True


def _works(node: NodeGpus, now: float, mine: Collection[int] | None) -> Iterable[tuple[str, bool]]:
    """`GPUs 0-2 4-7 at 100 % but 13 % of power (busy-waiting); GPU 3 at 0 %`. Normal power speaks against a hang."""
    judged = gpu_outliers.judged_of(node, now, mine)
    waiting = [gpu for gpu in judged if gpu_outliers.busy_waits(gpu)]
    idle = [gpu for gpu in judged if gpu.util_percent is not None and gpu.util_percent <= gpu_outliers.IDLE_UTIL_PERCENT]
    working = [gpu for gpu in judged if gpu not in waiting and (gpu.util_percent or 0) >= gpu_outliers.BUSY_UTIL_PERCENT]
    rest = f"; {_at(idle)}" if idle else ""
    if waiting:
        yield f"{_at(waiting)} but {_power(waiting)} % of power (busy-waiting){rest}", True
    elif judged and len(idle) == len(judged):
        yield f"{_at(idle)}: nothing computes", True
    if working:
        yield f"{_at(working)} and {_power(working)} % of power{'' if waiting else rest}", False


def _others(found: Sequence[GpuFact]) -> Iterable[tuple[str, bool]]:
    for kind in dict.fromkeys(fact.kind for fact in found if fact.kind not in SAID_ELSEWHERE):
        alike = [fact for fact in found if fact.kind == kind]
        if len(alike) > SAID_OF_ONE:
            yield f"{numbered('GPU', (fact.index for fact in alike))}: {kind}", True
        else:
            yield from ((f"GPU {fact.index}: {fact.text}", True) for fact in alike)


def _named(gpus: Sequence[Gpu]) -> str:
    return numbered("GPU", (gpu.index for gpu in gpus))


def _at(gpus: Sequence[Gpu]) -> str:
    return f"{_named(gpus)} at {median(gpu.util_percent or 0 for gpu in gpus):.0f} %"


def _power(gpus: Sequence[Gpu]) -> str:
    parts = [part for gpu in gpus if (part := gpu_outliers.power_part(gpu)) is not None]
    return f"{100 * median(parts):.0f}" if parts else "?"
