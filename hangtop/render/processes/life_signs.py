"""Signs beside the log: growing checkpoints, filling disks and memory, ranks that have not connected. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hangtop.common import text
from hangtop.diagnosis.facts.machine_evidence import host_evidence
from hangtop.records.process import ProcessReading
from hangtop.render.spans import Row
from hangtop.state.run_state import RunState
from hangtop.translations import say

GROWS_FOR_S = 30.0
"""A checkpoint that grew within this time is being saved."""


def life_signs(state: RunState, now: float, *, trouble: bool) -> list[Row]:
    """What is notable, gravest first; nothing in a healthy run. In `trouble` also missing connections."""
    return [
        *(((fact.text, "warn"),) for fact in host_evidence(state, now)),
        *(_met(state.procs) if trouble and state.procs is not None else ()),
        *_checkpoint(state, now),
    ]


def _met(reading: ProcessReading) -> Iterable[Row]:
    """Connections to MASTER_PORT against the number of ranks."""
    met = reading.rendezvous
    if met is None:
        return
    place = f"{met.address}:{met.port}"
    world = say(f" of {met.world}" if met.world else "")
    if met.joined and met.missing:
        ranks = text.numbered("rank", met.missing)
        yield ((say(f"{ranks} not connected to {place}"), "warn"), (f" ({len(met.joined)}{world} here are)", "muted"))
    elif met.another_listens:
        yield ((say(f"a process that is not the run's listens at {place}"), "warn"),)
    elif met.listening is False and met.established == 0:
        yield ((say(f"nobody listens at {place}, 0{world} connected"), "warn"),)


def _checkpoint(state: RunState, now: float) -> Iterable[Row]:
    saved = state.checkpoints
    if saved is None or saved.grown_at is None or now - saved.grown_at > GROWS_FOR_S:
        return
    rate = say(f" by {text.rate(saved.growth_b_s)}" if saved.growth_b_s else "")
    newest = (saved.newest or saved.directory).removeprefix(saved.directory).lstrip("/")
    yield ((say("checkpoint grows") + rate, "ink"), (f", {newest} {text.size(saved.newest_bytes)}", "muted"))
