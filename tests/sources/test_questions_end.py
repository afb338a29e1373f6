"""Every question to a real probe ends: with its answer, or with a problem that carries its number."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from contextlib import aclosing
from typing import get_args

import pytest

from hangtop.actions.registry import Choices, action
from hangtop.cli.commands import action as command
from hangtop.feeds import probe_feed
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.monitor.questions import unanswered
from hangtop.probe.source import SOURCES
from hangtop.records.ask import ANSWERED_BY, Ask, AskEnd, FlightAsk, LaunchAsk, LeftoversAsk, PageAsk, kind_of
from hangtop.records.health import Heartbeat, ProbeState
from hangtop.records.launch import LaunchReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from tests.fakes import bad_sources
from tests.fakes.bad_sources import probe_with
from tests.fakes.processes import PATIENCE_S

SPEC = WatchSpec(sources=("launch",))


async def ends_of(feed: ProbeFeed, *asks: Ask) -> tuple[dict[int, str | None], RunState]:
    """What became of each of these, asked once the probe beats."""
    state, ends, sent = RunState(), {}, False
    async with asyncio.timeout(PATIENCE_S), aclosing(feed.readings()) as readings:  # type: ignore[type-var]
        try:
            async for reading in readings:
                state = fold(state, reading)
                if isinstance(reading.value, Heartbeat) and not sent:
                    sent = True
                    for ask in asks:
                        feed.ask(ask)
                if isinstance(reading.value, AskEnd):
                    ends[reading.value.ask] = reading.value.problem
                if len(ends) == len(asks):
                    return ends, state
        finally:
            feed.close()
    raise AssertionError(f"the feed ended before its questions did: {ends}")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (bad_sources.Hangs, "no answer within 0s: the launch source is busy for"),
        (bad_sources.HangsOnAsk, "no answer within 0s: the launch source is busy for"),
        (bad_sources.HangsOpening, "no answer within 0s: the launch source is busy for"),
        (bad_sources.Fails, "hangtop's launch source failed: ZeroDivisionError: a bug"),
        (bad_sources.FailsOpening, "the driver does not answer: reboot"),
    ],
)
async def test_a_question_to_a_source_that_hangs_or_fails_ends_with_a_problem(source: type[bad_sources.Source], problem: str):
    ask = LaunchAsk(7, 1, 1)
    ends, state = await ends_of(ProbeFeed(SPEC, probe_with(source)), ask)
    assert (ends[7] or "").startswith(problem)
    assert unanswered(state, ask) == ends[7]


async def test_a_source_that_finds_nothing_to_read_answers_all_the_same():
    ends, state = await ends_of(ProbeFeed(SPEC, probe_with(bad_sources.IsAbsent)), LaunchAsk(7))
    assert ends == {7: None}
    assert state.launch == LaunchReading(7, problem="it was asked")


def test_every_question_is_answered_by_a_source_that_there_is():
    assert set(ANSWERED_BY) == set(get_args(Ask))
    assert set(ANSWERED_BY.values()) <= SOURCES.keys()


async def test_an_answer_that_is_empty_ends_too():
    ask = LaunchAsk(7)
    ends, state = await ends_of(ProbeFeed(SPEC, probe_with(bad_sources.SaysNothing)), ask)
    assert ends == {7: None}
    assert unanswered(state, ask) == "the launch source had nothing to tell"


async def test_a_question_that_no_source_of_this_watch_answers_ends_at_once():
    ends, _ = await ends_of(ProbeFeed(WatchSpec(sources=())), FlightAsk(3, (1,)))
    assert ends == {3: "--sources leaves out nccl, which knows that"}


async def test_questions_of_one_kind_and_of_two_wait_for_each_other():
    feed = ProbeFeed(WatchSpec(sources=("launch", "leftovers")), probe_with(bad_sources.Source))
    ends, state = await ends_of(feed, LaunchAsk(1), LaunchAsk(2), LaunchAsk(3), LeftoversAsk(1 << 40))
    assert ends == {1: None, 2: None, 3: None, 1 << 40: None}
    assert state.leftovers is not None


async def test_questions_that_are_more_than_the_pipe_takes_at_once_arrive_whole():
    asks = [PageAsk(number, 0, 0, pattern="x" * 3_000) for number in range(100)]
    ends, _ = await ends_of(ProbeFeed(WatchSpec(sources=())), *asks)
    assert set(ends.values()) == {"--sources leaves out pages, which knows that"}
    assert len(ends) == 100


@pytest.mark.parametrize("name", ["KILL", "STOP"])
async def test_questions_end_with_the_probe_that_was_to_answer_them(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr(probe_feed, "SILENT_S", 0.5)
    monkeypatch.setattr(probe_feed, "GIVE_UP_S", 1.0)
    feed, told, ask = ProbeFeed(SPEC, probe_with(bad_sources.HangsOnAsk)), [], LaunchAsk(7)
    async with asyncio.timeout(PATIENCE_S):
        async for reading in feed.readings():
            if isinstance(reading.value, Heartbeat) and ask is not None:
                feed.ask(ask)
                ask = None
                assert reading.value.pid is not None
                os.kill(reading.value.pid, getattr(signal, f"SIG{name}"))
            if isinstance(reading.value, AskEnd):
                told.append(reading.value)
                feed.ask(LaunchAsk(8))  # there is no probe now
            if len(told) == 2:
                feed.close()
                break
    assert [(end.ask, end.kind) for end in told] == [(7, "launch"), (8, "launch")]
    assert "killed by SIGKILL" in (told[0].problem or "")
    assert told[1].problem == "the probe is being started again: ask again"


async def test_a_probe_that_was_well_is_started_again_as_for_the_first_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probe_feed, "RESTART_S", (0.0,))
    counts: list[int] = []
    for well_s, wanted in ((3600.0, [0, 1, 2]), (0.0, [0, 1, 1])):
        monkeypatch.setattr(probe_feed, "WELL_S", well_s)
        feed = ProbeFeed(SPEC, (sys.executable, "-c", ""))
        counts = []
        async with asyncio.timeout(PATIENCE_S):
            async for reading in feed.readings():
                if isinstance(reading.value, ProbeState) and reading.value.alive:
                    counts.append(reading.value.restarts)
                if len(counts) == 3:
                    feed.close()
                    break
        assert counts == wanted


def test_the_kind_of_a_question_is_what_it_is_called_on_the_wire():
    assert kind_of(LaunchAsk(1)) == "launch"


async def test_the_flight_recorders_are_asked_where_no_port_of_nccl_is_found():
    ends, _ = await ends_of(ProbeFeed(WatchSpec(sources=("nccl",))), FlightAsk(3, (1,)))
    assert ends == {3: None}


def test_a_command_whose_probe_dies_again_and_again_ends_and_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "FIRST_LOOK_S", 1.0)
    feed, out = ProbeFeed(SPEC, (sys.executable, "-c", "raise SystemExit(7)")), io.StringIO()
    assert command.run(action("stop"), SPEC, Choices(), yes=True, out=out, feed_of=lambda _: feed) == 2
    assert "the probe ended with exit code 7" in out.getvalue()
    assert "file system" not in out.getvalue()
