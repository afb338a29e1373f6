"""What a demo run does: `scenarios.toml`, checked."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from hangtop.common.decode_toml import decode_toml


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run. `rank`: the culprit. Its fault strikes only when the run is started for the first time, as a race or a broken node
    does: a restarted run passes the place.

    `meet_every`: steps from one collective to the next; with more than 1 a slow rank falls behind in the log, too.
    `stall_s`: the stall limit to watch it with, shorter than the usual one, so that nobody waits two minutes for a demo.
    """

    name: str
    title: str
    world: int
    steps: int
    stall_s: float
    step_s: float = 0.4
    fault: Literal["deadlock", "checkpoint", "crash", "lag"] | None = None
    rank: int | None = None
    step: int = 1
    fault_s: float = 0.0
    meet_every: int = 1


class DemoError(Exception):
    """The demo cannot start. The message says why in one line."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scenario: tuple[Scenario, ...]


@cache
def scenarios() -> tuple[Scenario, ...]:
    """All scenarios, the default one first."""
    return decode_toml(Path(__file__).with_name("scenarios.toml").read_bytes(), _File).scenario


def scenario(name: str | None = None) -> Scenario:
    """The scenario of this name, or the default one. Raises `DemoError`."""
    if name is None:
        return scenarios()[0]
    known = {scenario.name: scenario for scenario in scenarios()}
    if name not in known:
        raise DemoError(f"no demo scenario '{name}'; there are: {', '.join(known)}")
    return known[name]
