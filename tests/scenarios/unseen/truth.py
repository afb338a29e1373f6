"""Whether what was meant came true: the run is watched, without hangtop, until its label is proven or it is thrown out."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tests.scenarios.unseen.inject import Plan
from tests.scenarios.unseen.sites import COLLECTIVES
from tests.scenarios.unseen.watch import LogWatch, alive

HUNG_S = 60.0
"""No step for so long, and the run is there: it hangs."""
ALIVE_LIMIT_S = 300.0
"""No proof takes longer: four times the longest work that is alive, for a busy machine."""
NEED_AFTER_S = 15.0
"""Nothing is called hung sooner after the question than this. These three are choices."""
LIVES = ("running", "slow")


class Named(NamedTuple):
    """A process, as an answer names it."""

    rank: int | None
    pid: int | None


@dataclass(frozen=True)
class Victim:
    """The process that a fault came to."""

    pid: int
    rank: int | None
    time: float


@dataclass(frozen=True)
class Truth:
    """What is proven of a run: the verdicts that are right, and who is to be named; or why it is thrown out."""

    label: str | None
    why: str
    verdicts: tuple[str, ...] = ()
    culprits: tuple[Named, ...] | None = None
    """None where nobody is asked for."""


@dataclass(frozen=True)
class Run:
    """A run under watch."""

    plan: Plan
    main: subprocess.Popen[bytes]
    watch: LogWatch
    victim: Victim | None
    helper: int | None
    asked: float
    steps_then: int
    ended_before: bool
    """Whether the main process had ended before hangtop was asked."""
    left_over: bool
    """Whether a process of the run was there when hangtop was asked."""


def prove(run: Run, tick: Callable[[], None]) -> Truth:
    """Watch until it is certain. `tick` is called now and then."""
    ends = time.time() + ALIVE_LIMIT_S
    while time.time() < ends:
        tick()
        steps, code = run.watch.look(), run.main.poll()
        if code is not None:
            return _ended(run, code)
        need = 2 if run.plan.kind.lasting else 1
        if steps >= run.steps_then + need * run.plan.program.printers:
            return _went_on(run)
        since = max(run.watch.last_step, run.victim.time if run.victim else 0.0)
        if run.plan.kind.means != "alive" and time.time() - since > HUNG_S and time.time() - run.asked > NEED_AFTER_S:
            return _stuck(run)
        time.sleep(0.25)
    return Truth(None, "meant to live, and made no step for long")


def _ended(run: Run, code: int) -> Truth:
    means = run.plan.kind.means
    if code == 0:
        if run.ended_before and means == "finished" and not run.left_over:
            return Truth("finished", "ended with 0", ("finished",))
        if not run.ended_before and means == "alive":
            return Truth("alive", "went on to its end", LIVES)
        return Truth(None, f"meant {means}, and ended with 0")
    if means == "crashed" or (means == "finished" and run.victim):
        right = ("hung", "crashed") if run.left_over else ("crashed",)
        return Truth("crashed", f"ended with {code}", right, _dead(run))
    return Truth(None, f"meant {means}, and ended with {code}")


def _went_on(run: Run) -> Truth:
    means = run.plan.kind.means
    if means == "alive":
        return Truth("alive", "made steps after the question", LIVES)
    if run.plan.kind.leaves_out:
        return Truth("alive", "nobody missed the message; made steps after the question", LIVES)
    return Truth(None, f"meant {means}, and made steps after the question")


def _stuck(run: Run) -> Truth:
    means, kind = run.plan.kind.means, run.plan.kind
    if run.watch.last_step > run.asked:
        return Truth(None, f"meant {means}, and made a last step after the question")
    if run.victim is None:
        return Truth(None, f"meant {means}, and neither ended nor made a step")
    if means == "hung":
        if not alive(run.victim.pid):
            return Truth(None, "meant hung, and the process is gone while nothing steps")
        cause = Named(None, run.helper) if kind.helper_is_cause else Named(run.victim.rank, run.victim.pid)
        named = not kind.leaves_out or (run.plan.site is not None and run.plan.site.call in COLLECTIVES)
        return Truth("hung", f"no step for {HUNG_S:.0f} s", ("hung", *kind.also_right), (cause,) if named else None)
    if alive(run.victim.pid):
        return Truth(None, f"meant {means}, but the process is there and nothing steps")
    return Truth("crashed", f"dead, and no step of the others for {HUNG_S:.0f} s", ("hung", "crashed"), _dead(run))


def _dead(run: Run) -> tuple[Named, ...] | None:
    """A dead process is asked for by its rank; nobody can name it without, once it is gone. Where an error ends the process that
    had called, not the one that it came to, either could be meant."""
    if run.victim is None or run.victim.rank is None or (run.plan.kind.is_error and run.plan.program.is_asked):
        return None
    return (Named(run.victim.rank, run.victim.pid),)
