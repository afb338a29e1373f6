"""A verdict on one of several runs, by a process of its own that ends with the look."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hangtop.monitor.told_state import StatesTold, ToldState
from hangtop.records.watch_spec import WatchSpec, as_options
from hangtop.system.hangtop_answer import printed_by
from hangtop.translations import say

LIMIT_S = 120.0
"""A look takes up to 50 s where something stands, more on a busy machine."""


class RunLook(Struct, frozen=True):
    """What a look gave: `told`, or the `problem` that kept it from an answer."""

    told: ToldState | None = None
    problem: str = ""


async def look_at_run(log: str, spec: WatchSpec) -> RunLook:
    """What a hangtop or guard that watches this run says of it, else what a look finds. `spec`: how to watch."""
    words = ("status", "--json", *as_options(replace(spec, logs=(log,), pids=())))
    try:
        printed = await printed_by(*words, limit_s=LIMIT_S)
        told = msgspec.json.decode(printed, type=StatesTold).runs
    except TimeoutError:
        return RunLook(problem=say(f"no answer within {LIMIT_S:.0f} s"))
    except (OSError, ValueError):  # no process, no JSON, or a path that this locale cannot spell
        told = ()
    if not told:
        return RunLook(problem=say("no answer: Enter watches it, and says why"))
    return RunLook(max(told, key=lambda each: each.verdict.state.urgency))
