"""Watching without a terminal: one line per change, and the verdict at the end."""

from __future__ import annotations

import asyncio
import select
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import TextIO

from msgspec import Struct
from msgspec.structs import replace

from hangtop.cli.commands.check import advice_lines, advised, not_kept, text
from hangtop.common.text import cells, clock, duration, printable
from hangtop.feeds.probe_feed import Feed
from hangtop.feeds.troubled import ASIDE
from hangtop.monitor.headless import StackRequester, settled, states
from hangtop.monitor.monitor import Looker, Monitor
from hangtop.monitor.stack_requests import satisfied
from hangtop.records.log import StageEvent
from hangtop.records.verdict import ENDED, Subscriber, Verdict, VerdictChanged, VerdictWord
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from hangtop.translations import say

LOOK_AGAIN_S = 0.5
STEP_LINE_S = 10.0
"""Steps are printed at most this often."""
KIND_CELLS = 8
LAST_WORDS_S = 1.5
"""A dying run still writes: its traceback in pieces, then the launcher's summary."""
READER_GONE = 141
"""128 + SIGPIPE: what a shell says of a program whose reader went away (`hangtop --plain | head -1`)."""


class PrintedState(Struct):
    """What was printed last, so that only changes are. `change`: of the verdict, not printed yet.

    `is_begun`: something was printed; what came before that has no time that is known.
    """

    is_begun: bool = False
    change: VerdictChanged | None = None
    stage: StageEvent | None = None
    findings: frozenset[tuple[str, int]] = frozenset()
    step: int | None = None
    step_at: float = 0.0
    behind: frozenset[int | None] = frozenset()
    aside: str = ""

    def note(self, change: VerdictChanged) -> None:
        """Keep a change until it is printed; of several, from the first to the last."""
        self.change = change if self.change is None else replace(change, before=self.change.before)


def changes(printed: PrintedState, state: RunState, verdict: Verdict, now: float) -> Iterator[str]:
    """The lines that are new since `printed`, which is brought up to date."""
    if (log := state.log) is None:
        return
    just_now = now if printed.is_begun else None  # what was there before the first look is older than that, nobody knows how much
    for stage in new_stages(printed.stage, log.stages):
        again = say(f" (attempt {stage.attempt})") if stage.attempt > 1 else ""
        yield f"{clock(stage.at or just_now)}  {_kind('stage')} {say(stage.title)}{again}"
    printed.stage = log.stages[-1] if log.stages else None
    for finding in log.findings:
        if (key := (finding.id, finding.attempt)) not in printed.findings and finding.role != "noise":
            printed.findings |= {key}
            rank = "" if finding.rank is None else f"rank {finding.rank}: "
            yield f"{clock(finding.at or just_now)}  {_kind(finding.severity)} {rank}{finding.text} ({finding.id})"
    progress = log.progress
    if progress.step is not None and progress.step != printed.step and now - printed.step_at >= STEP_LINE_S:
        printed.step, printed.step_at = progress.step, now
        pace = "" if progress.step_s is None else say(f", {progress.step_s:.1f} s a step")
        yield (
            f"{clock(now)}  {_kind('step')} {progress.step:,}" + (say(f" of {progress.total:,}") if progress.total else "") + pace
        )
    yield from _stayed_behind(printed, verdict, now)
    yield from _trouble_aside(printed, state, now)
    if printed.change is not None and _is_news(printed.change):
        quiet = "" if verdict.silence_s is None else say(f" (quiet {duration(verdict.silence_s)})")
        yield f"{clock(now)}  {_kind(verdict.word)} {say(verdict.headline)}{quiet}"
    printed.is_begun, printed.change = True, None


def _kind(word: str) -> str:
    """What a line tells of, as wide on every line."""
    said = say(word)
    return said + " " * max(0, KIND_CELLS - cells(said))


def _is_news(change: VerdictChanged) -> bool:
    """Whether it says another sentence. That a run is well is none at the start."""
    if change.before is None:
        return change.verdict.word != "running"
    return change.verdict.headline != change.before.headline


def new_stages(last: StageEvent | None, stages: Sequence[StageEvent]) -> Sequence[StageEvent]:
    """Those entered after `last`, which was printed. Of a long run the reading holds the first of each and the newest: their
    number says nothing."""
    if last is None:
        return stages
    same = [place for place, stage in enumerate(stages) if _place(stage) == _place(last)]
    return stages[same[-1] + 1 :] if same else [stage for stage in stages if _is_later(stage, last)]


def _place(stage: StageEvent) -> tuple[int, int, str, str]:
    return stage.file, stage.offset, stage.profile, stage.id


def _is_later(stage: StageEvent, last: StageEvent) -> bool:
    """Of a stage that is no longer in the list, or of another file: by place in one file, else by time."""
    behind = stage.file == last.file and stage.offset > last.offset
    return behind or (stage.at is not None and last.at is not None and stage.at > last.at)


def _trouble_aside(printed: PrintedState, state: RunState, now: float) -> Iterator[str]:
    """Why what goes along with the watch is not well: a recording, notices; and that it is well again."""
    failing = ((name, health.problem) for name in ASIDE if (health := state.health.get(name)) is not None)
    name, why = next(((name, why) for name, why in failing if why), ("", ""))
    if why and why != printed.aside:
        yield f"{clock(now)}  {_kind(name)} {say(why)}"
    printed.aside = why


def _stayed_behind(printed: PrintedState, verdict: Verdict, now: float) -> Iterator[str]:
    """Each straggler of a run that goes on, once until all have caught up. In trouble the verdict names them."""
    if verdict.word != "running":
        return
    for culprit in verdict.culprits:
        if culprit.rank not in printed.behind:
            yield f"{clock(now)}  {_kind('behind')} {culprit.name}: {', '.join(map(say, culprit.why))}"
    behind = frozenset(culprit.rank for culprit in verdict.culprits)
    printed.behind = printed.behind | behind if behind else behind


async def watch(
    feed: Feed,
    spec: WatchSpec,
    out: TextIO,
    now: Callable[[], float],
    until: frozenset[VerdictWord] = ENDED,
    subscribers: Iterable[Subscriber] = (),
    lookers: Iterable[Looker] = (),
) -> Verdict:
    """Print changes until the verdict is one of `until`, the feed ends, or somebody ends it (Ctrl-C, `timeout`). Raises
    `BrokenPipeError` when nobody reads."""
    printed = PrintedState()
    ends_at: float | None = None
    stack_requester = StackRequester(feed)
    state, monitor = RunState(), Monitor(spec, (printed.note, *subscribers), lookers)
    async for state in _until_signalled(states(feed, LOOK_AGAIN_S)):
        if reader_gone(out):
            raise BrokenPipeError
        snapshot = monitor.look(state, now(), draft=not settled(state))
        verdict = monitor.verdict
        stack_requester.follow(snapshot)
        if not settled(state) and verdict.word != "blind":
            continue
        ends_at = (ends_at or now() + LAST_WORDS_S) if verdict.word in until else None
        if ends_at is not None and now() < ends_at and verdict.word == "crashed":
            continue
        for line in changes(printed, state, verdict, now()):
            out.write(f"{printable(line)}\n")
        out.flush()
        if ends_at is not None and now() >= ends_at and satisfied(snapshot):
            break
    snapshot = monitor.look(state, now())  # where all was a draft so far, this is the word that stands
    told, problem = advised(snapshot, monitor.verdict)
    left_out = [problem] if problem else []
    notes = [*advice_lines(told), *(f"  ! {note}" for note in (*not_kept(state.log), *left_out))]
    lines = (*changes(printed, state, monitor.verdict, now()), *text(monitor.verdict, told), *notes)
    out.write("".join(f"{printable(line)}\n" for line in lines))
    out.flush()
    return monitor.verdict


async def _until_signalled(every: AsyncIterator[RunState]) -> AsyncIterator[RunState]:
    """These states, until a signal ends the watch; what was seen by then is worth a verdict."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is not None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, task.cancel)
    try:
        async for state in every:
            yield state
    except asyncio.CancelledError:
        return


def reader_gone(out: TextIO) -> bool:
    """Whether `out` is a pipe without a reader. A write would tell, but a quiet run writes nothing."""
    try:
        looked = select.poll()
        looked.register(out.fileno(), 0)
        return any(found & (select.POLLERR | select.POLLHUP | select.POLLNVAL) for _, found in looked.poll(0))
    except (OSError, ValueError):  # no file behind it
        return False
