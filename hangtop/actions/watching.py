"""Watch a run that was started again until it has passed the place where the old one hung: the last part of a recovery."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Generator, Iterator, Sequence

from hangtop import clock, text
from hangtop.actions.steps import Halt, step
from hangtop.diagnosis.case import look
from hangtop.diagnosis.verdict import judge
from hangtop.feeds import ProbeFeed
from hangtop.model import RunState
from hangtop.records.log import LogReading, StageEvent
from hangtop.records.plan import Step, Watch
from hangtop.records.verdict import Verdict
from hangtop.session import states
from hangtop.spec import WatchSpec

LOOK_EVERY_S = 1.0
SOURCES = ("log", "procs", "stacks", "ray")
BAD = frozenset({"crashed", "hung", "stalled"})
BAD_LOOKS = 3
"""So many looks in a row must say the same bad word."""


class Mark:
    """How long the logs were when the new run began: what stands before is of the old one."""

    def __init__(self, logs: Sequence[str]) -> None:
        self._ends = {os.path.realpath(path): os.path.getsize(path) for path in logs if os.path.isfile(path)}

    def fresh(self, log: LogReading, event: StageEvent) -> bool:
        """Whether this stage was entered by the new run."""
        path = log.files[event.file].path if event.file < len(log.files) else ""
        return event.offset >= self._ends.get(os.path.realpath(path), 0)

    def grown(self, log: LogReading) -> bool:
        return any(file.size_bytes > self._ends.get(os.path.realpath(file.path), 0) for file in log.files)


def watched(watch: Watch, mark: Mark, halt: Halt) -> Generator[Step, None, bool]:
    """Each stage as it is entered, then whether the place is passed."""
    where = f"stage {watch.title}" if watch.stage else "its first stage"
    yield step("doing", f"watching it pass {where}, for at most {text.duration(watch.deadline_s)}")
    spec = WatchSpec(logs=watch.logs, profile=watch.profile, stall_s=watch.stall_s, sources=SOURCES)
    feed = ProbeFeed(spec)
    until, told, bad = clock.now() + watch.deadline_s, 0, 0
    steps: set[int] = set()
    for state in _each(states(feed, LOOK_EVERY_S)):
        if halt():
            yield step("skipped", "not watched any further")
            return False
        log = state.log
        fresh = [event for event in log.stages if mark.fresh(log, event)] if log is not None else []
        for event in fresh[told:]:
            yield step("done", f"stage {event.title}")
        told = max(told, len(fresh))
        if log is not None and fresh and log.progress.step is not None:
            steps.add(log.progress.step)
        if log is not None and passed(watch, [event.id for event in fresh], len(steps)):
            yield step("proof", f"it has passed {where}{_at_step(watch, log)}")
            return True
        verdict = judge(look(state, spec, clock.now())) if log is not None and mark.grown(log) else None
        bad = bad + 1 if verdict is not None and verdict.word in BAD else 0
        if verdict is not None and bad >= BAD_LOOKS:
            yield step("survived", _again(verdict))
            return False
        if clock.now() > until:
            yield step("survived", f"it has not passed {where} within {text.duration(watch.deadline_s)}; it goes on")
            return False
    return False


def passed(watch: Watch, entered: Sequence[str], steps: int) -> bool:
    """Whether the new run is beyond the stage: in a later one, in another one after it, or there with a step done. Pure.

    `entered`: ids of the stages that it entered, in their order. `steps`: how many different step numbers it has shown.
    """
    if not entered or not watch.stage:
        return bool(entered)
    place = {id_: number for number, id_ in enumerate(watch.order)}
    limit = place.get(watch.stage, len(place))
    if any(place.get(id_, -1) > limit for id_ in entered):
        return True
    if watch.stage not in entered:
        return False
    return steps > 1 or any(id_ != watch.stage for id_ in entered[entered.index(watch.stage) + 1 :])


def _at_step(watch: Watch, log: LogReading) -> str:
    if log.progress.step is None:
        return ""
    old = f"; it hung at step {watch.step}" if watch.step is not None else ""
    return f", step {log.progress.step}{old}"


def _again(verdict: Verdict) -> str:
    return f"the new run is {verdict.word}: {verdict.headline}"


def _each(stream: AsyncIterator[RunState]) -> Iterator[RunState]:
    """An asynchronous stream, one after another, for a process that does nothing else meanwhile."""
    with asyncio.Runner() as runner:
        try:
            while True:
                yield runner.run(_next(stream))
        except StopAsyncIteration:
            return
        finally:
            if hasattr(stream, "aclose"):
                runner.run(stream.aclose())


async def _next(stream: AsyncIterator[RunState]) -> RunState:
    return await anext(stream)
