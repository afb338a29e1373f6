"""Watch a restarted run until it has passed the place where the old one hung: the last part of a recovery.

A run may hang again one step later. So it has passed only when it has reached the next step (or stage), then went on for as long
as that step took, and printed something meanwhile.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Literal

from hangtop.actions.execute.steps import CancelFlag, step
from hangtop.common import clock, text
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.monitor.headless import states
from hangtop.monitor.monitor import Monitor
from hangtop.records.log import LogReading, StageEvent
from hangtop.records.plan import Step, Watch
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

LOOK_EVERY_S = 1.0
SOURCES = ("log", "procs", "stacks", "ray")
BAD_LOOKS = 3
"""So many polls in a row must give a bad verdict."""
LEAST_S = 2.0
"""Two polls: shorter steps cannot be told apart."""

Standing = Literal["before", "beyond", "passed"]


class LogLengths:
    """The length of each log when the new run began: everything before is of the old run."""

    def __init__(self, logs: Sequence[str]) -> None:
        self._ends = {os.path.realpath(path): os.path.getsize(path) for path in logs if os.path.isfile(path)}

    def fresh(self, log: LogReading, event: StageEvent) -> bool:
        """Whether the new run entered this stage."""
        path = log.files[event.file].path if event.file < len(log.files) else ""
        return event.offset >= self._ends.get(os.path.realpath(path), 0)

    def grown(self, log: LogReading) -> bool:
        return any(file.size_bytes > self._ends.get(os.path.realpath(file.path), 0) for file in log.files)


class RestartProgress:
    """How far the new run is (`standing`). `settle_s`: how long it must go on beyond the place."""

    def __init__(self, watch: Watch, now: float) -> None:
        self.standing: Standing = "before"
        self._watch = watch
        self._last: tuple[int, int | None] = (0, None)
        self._moved_at = now
        self._beyond_at = now
        self.settle_s = 0.0

    def look(self, now: float, entered: Sequence[str], step: int | None, last_output_at: float | None) -> Standing:
        """What is known at `now` (unix time). `entered`: ids of the stages that the new run entered, in their order; `step`: the
        last one that it told; `last_output_at`: unix time of the last byte."""
        if self.standing == "before" and beyond(self._watch, entered, step):
            self.standing, self._beyond_at = "beyond", now
            self.settle_s = max(LEAST_S, now - self._moved_at)
        if (len(entered), step) != self._last:
            self._last, self._moved_at = (len(entered), step), now
        speaks = last_output_at is not None and last_output_at > self._beyond_at
        if self.standing == "beyond" and speaks and now - self._beyond_at >= self.settle_s:
            self.standing = "passed"
        return self.standing


def beyond(watch: Watch, entered: Sequence[str], step: int | None) -> bool:
    """Whether the next step was reached; if the old run printed no steps, whether the next stage was entered."""
    if watch.step is not None:
        return step is not None and step > watch.step
    if not watch.stage:
        return bool(entered) or step is not None
    place = {id_: number for number, id_ in enumerate(watch.order)}
    limit = place.get(watch.stage, len(place))
    if any(place.get(id_, -1) > limit for id_ in entered):
        return True
    if watch.stage not in entered:
        return False
    return step is not None or any(id_ != watch.stage for id_ in entered[entered.index(watch.stage) + 1 :])


def verified(watch: Watch, mark: LogLengths, halt: CancelFlag) -> Iterator[Step]:
    """A step for each stage that is entered, then whether the place is passed."""
    yield step("doing", f"watching it pass {_place(watch)}, for at most {text.duration(watch.deadline_s)}")
    spec = WatchSpec(logs=watch.logs, profile=watch.profile, stall_s=watch.stall_s, sources=SOURCES)
    passage, monitor = RestartProgress(watch, clock.now()), Monitor(spec)
    until, bad = clock.now() + watch.deadline_s, 0
    entered: set[str] = set()
    for state in _each(states(ProbeFeed(spec), LOOK_EVERY_S)):
        now = clock.now()
        log = state.log if state.log is not None and mark.grown(state.log) else None
        fresh = [event for event in log.stages if mark.fresh(log, event)] if log is not None else []
        for title in dict.fromkeys(event.title for event in fresh):
            if title not in entered:
                entered.add(title)
                yield step("done", f"stage {title}")
        at = log.progress.step if log is not None else None
        if log is not None:
            passage.look(now, [event.id for event in fresh], at, log.last_output_at)
            monitor.look(state, now, draft=not log.caught_up)
        verdict = monitor.verdict if log is not None and monitor.stands else None
        if passage.standing == "passed" or (passage.standing == "beyond" and verdict is not None and verdict.word == "finished"):
            yield step("proof", f"it has passed {_place(watch)}{_at_step(at)}")
            return
        bad = bad + 1 if verdict is not None and verdict.state.trouble else 0
        if verdict is not None and bad >= BAD_LOOKS:
            yield step("survived", f"the new run is {verdict.word}: {verdict.headline}")
            return
        if halt():
            yield step("skipped", f"not watched any further; it has not passed {_place(watch)} yet{_at_step(at)}")
            return
        if now > until + passage.settle_s:
            limit = text.duration(watch.deadline_s)
            yield step("survived", f"not yet: within {limit} it has not passed {_place(watch)}{_at_step(at)}; it goes on")
            return


def _place(watch: Watch) -> str:
    """`stage training, step 13, where it hung`."""
    if not watch.stage and watch.step is None:
        return "its first stage"
    stage = f"stage {watch.title}" if watch.stage else ""
    at = f"step {watch.step:,}" if watch.step is not None else ""
    return f"{', '.join(part for part in (stage, at) if part)}, where the old run hung"


def _at_step(at: int | None) -> str:
    return "" if at is None else f": it is at step {at:,}"


def _each(stream: AsyncIterator[RunState]) -> Iterator[RunState]:
    """An asynchronous stream as an iterator that blocks: this process does nothing else meanwhile."""
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
