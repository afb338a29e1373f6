"""What each source could see, and what it could not, with the command that would show it. Pure.

A missing right, a source that does not answer and old data are no signs that all is well: they are said by the source that
they concern, and lower how sure a verdict is.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from hangtop.common.text import clock, duration, some
from hangtop.diagnosis.facts.ray_health import api_refusal, stale_since
from hangtop.diagnosis.members.ray_ownership import clusters_of_run, said_of, strangers
from hangtop.diagnosis.members.writer_presence import nobody_writes
from hangtop.records.health import SourceHealth
from hangtop.records.nodes import is_node
from hangtop.records.watch_spec import ASKED_SOURCES
from hangtop.state.run_state import RunState

NOT_YET = "has told nothing yet"
CONTAINED = "hangtop sees the processes of its own container only: one outside of it may write the log"


class SourceSeen(Struct, frozen=True):
    """One source. `ok`: it reads, and what it read is no older than it should be. `age_s`: seconds since its last good reading.

    `problem`: why it does not, what is absent, or what one that is well could not see.
    """

    ok: bool
    age_s: float | None
    problem: str | None


def sources_seen(state: RunState, now: float) -> dict[str, SourceSeen]:
    """By name, as `--sources` names them."""
    return {name: _seen(health, state, now) for name, health in state.health.items() if name not in ASKED_SOURCES}


def _seen(health: SourceHealth, state: RunState, now: float) -> SourceSeen:
    age_s = None if health.read_at is None else max(0.0, now - health.read_at)
    read = health.read_at is not None or (health.name == "log" and state.log is not None)  # a first look may take long
    failed = health.problem or health.absent or failure(health, state, now)
    told = failed or "; ".join(dict.fromkeys(LACKS.get(health.name, _nothing)(state, now))) or (None if read else NOT_YET)
    return SourceSeen(failed is None and read, age_s, told)


def failure(health: SourceHealth, state: RunState, now: float) -> str | None:
    """Why what a source tells cannot be used, though it runs; `None` where it can."""
    if health.is_late:
        return f"has not answered for {duration(health.busy_s)}"
    return next(FAILS.get(health.name, _nothing)(state, now), None)


def _nothing(state: RunState, now: float) -> Iterator[str]:
    del state, now
    return iter(())


def stacks_refused(state: RunState) -> str | None:
    """Why no stack at all could be read in the last look, and the command that permits it; `None` where one could."""
    stacks = state.looks[-1].stacks if state.looks else ()
    if any(stack.threads for stack in stacks):
        return None
    return next((_with_mend(stack.problem, stack.mend) for stack in stacks if stack.mend), None)


def _no_stacks(state: RunState, now: float) -> Iterator[str]:
    look = state.looks[-1] if state.looks else None
    if look is not None and look.problem:
        yield _with_mend(look.problem, look.mend)
    if (refused := stacks_refused(state)) is not None:
        yield refused


def _some_refused(state: RunState, now: float) -> Iterator[str]:
    """Of how many processes no stack could be read, while others' could."""
    look = state.looks[-1] if state.looks else None
    refused = [stack for stack in look.stacks if stack.problem and stack.mend] if look is not None else []
    if refused and look is not None:
        yield f"{len(refused)} of {some(len(look.stacks), 'stack')} refused: {_with_mend(refused[0].problem, refused[0].mend)}"


def _with_mend(problem: str | None, mend: str | None) -> str:
    return f"{problem}: {mend}" if mend else f"{problem}"


def _old_ray(state: RunState, now: float) -> Iterator[str]:
    """Data of the run's clusters that is old, because nobody answers. A clock time, so that the words stand still."""
    for cluster in clusters_of_run(state):
        if (since := stale_since(cluster, now)) is None:
            continue
        refusal, api = api_refusal(cluster), cluster.api
        if refusal is not None and api.actors_at is None and api.tables_at is None:  # it never gave any
            yield refusal
            continue
        whose = "the GCS does not answer" if api.gcs_ok is False else "the dashboard tells nothing new"
        yield f"its data is of {clock(since)}: {refusal or whose}"


def _lacking_ray(state: RunState, now: float) -> Iterator[str]:
    if strange := said_of(strangers(state), now):
        yield strange


def _lacking_procs(state: RunState, now: float) -> Iterator[str]:
    procs = state.procs
    if procs is None:
        return
    if procs.note:
        yield procs.note
    elif procs.contained and nobody_writes(state):
        yield CONTAINED
    if (named := offered_nodes(state)) is not None:
        yield named
    hidden = sum(process.missing_right is not None for process in procs.processes)
    if hidden and procs.missing_right:
        yield f"{some(hidden, 'process')} of this run hidden: {procs.missing_right}"


def offered_nodes(state: RunState) -> str | None:
    """The options that show the other nodes of the run, where its processes name some, ranks are missing here, and no other is
    seen."""
    procs = state.procs
    if procs is None or procs.named is None or any(is_node(name) for name in state.health):
        return None
    here = {process.rank for process in procs.processes if process.role == "rank" and process.rank is not None}
    world = max((process.world or 0 for process in procs.processes), default=0)
    if here and world <= len(here):
        return None
    log = ("--log", state.log.files[0].path) if state.log is not None and state.log.files else ()
    command = shlex.join(("hangtop", *log, *procs.named.options))
    return f"the run has other nodes ({procs.named.by}): {command} shows them"


def _lacking_log(state: RunState, now: float) -> Iterator[str]:
    yield from (said for file in (state.log.files if state.log is not None else ()) if (said := file.problem or file.not_kept))


def _opening_gpu(state: RunState, now: float) -> Iterator[str]:
    nodes = [node.reading for node in state.gpus.values()]
    yield from (f"no GPU is known yet: {node.stuck_in} has not returned" for node in nodes if node.stuck_in and not node.gpus)


def _lacking_gpu(state: RunState, now: float) -> Iterator[str]:
    yield from (note for node in state.gpus.values() for note in node.reading.notes)


def _lacking_nccl(state: RunState, now: float) -> Iterator[str]:
    if state.nccl and (note := state.nccl[-1].note):
        yield note


def _lacking_debug(state: RunState, now: float) -> Iterator[str]:
    if state.torch_debug is not None and state.torch_debug.problem:
        yield state.torch_debug.problem


Words = Callable[[RunState, float], Iterator[str]]

FAILS: Mapping[str, Words] = {"stacks": _no_stacks, "ray": _old_ray, "gpu": _opening_gpu}
"""What makes a source useless, though it runs."""
LACKS: Mapping[str, Words] = {
    "log": _lacking_log,
    "procs": _lacking_procs,
    "stacks": _some_refused,
    "gpu": _lacking_gpu,
    "ray": _lacking_ray,
    "nccl": _lacking_nccl,
    "torchdebug": _lacking_debug,
}
"""What a source that is well could not see."""
