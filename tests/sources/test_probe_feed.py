"""A probe is a real child process: it may die, fall silent, print garbage or never answer. The feed says so and never waits."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hangtop.feeds import probe_feed
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.records.ask import PageAsk
from hangtop.records.health import Heartbeat, ProbeState
from hangtop.records.log import LogReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from tests.fakes.processes import PATIENCE_S


@asynccontextmanager
async def following(feed: ProbeFeed) -> AsyncIterator[AsyncIterator[Reading]]:
    readings = feed.readings()
    try:
        yield readings
    finally:
        feed.close()
        await readings.aclose()  # type: ignore[attr-defined]


async def until(readings: AsyncIterator[Reading], kind: type, *, problem: str = "") -> Reading:
    async with asyncio.timeout(PATIENCE_S):
        async for reading in readings:
            if isinstance(reading.value, kind) and problem in (getattr(reading.value, "problem", None) or ""):
                return reading
    raise AssertionError(f"the feed ended without a {kind.__name__}")


def child(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


async def test_the_real_probe_beats_and_ends_with_its_pipe(tmp_path: Path) -> None:
    feed = ProbeFeed(WatchSpec(logs=(str(tmp_path / "train.log"),), sources=()))
    async with following(feed) as readings:
        beat = (await until(readings, Heartbeat)).value
        assert isinstance(beat, Heartbeat)
        assert beat.pid is not None
        os.kill(beat.pid, 0)
    async with asyncio.timeout(PATIENCE_S):
        while lives(beat.pid):
            await asyncio.sleep(0.05)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_what_is_told_before_the_event_loop_is_told_again(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1\nstep 2\n")
    feed = ProbeFeed(WatchSpec(logs=(str(log),), sources=("log",)))
    feed.begin()
    early = feed.first(LogReading, PATIENCE_S)
    assert early is not None
    assert early.last_line == "step 2"
    async with following(feed) as readings:
        assert (await until(readings, LogReading)).value == early
        await until(readings, Heartbeat)


async def test_a_probe_that_tells_nothing_is_waited_for_only_so_long() -> None:
    feed = ProbeFeed(WatchSpec(), child("import time; time.sleep(600)"))
    feed.begin()
    assert feed.first(LogReading, 0.1) is None
    feed.close()


async def test_a_probe_that_dies_is_named_and_started_again(tmp_path: Path) -> None:
    mark = f"import pathlib, sys, time; mark = pathlib.Path({str(tmp_path / 'died')!r})"
    dies_once = f"{mark}\nif not mark.exists(): mark.touch(); sys.exit(3)\n"
    feed = ProbeFeed(WatchSpec(), child(f"{dies_once}time.sleep(600)"))
    async with following(feed) as readings:
        gone = await until(readings, ProbeState, problem="exit code 3")
        assert isinstance(gone.value, ProbeState)
        again = await until(readings, ProbeState, problem="")
        assert isinstance(again.value, ProbeState)
        assert again.value.restarts == 1


async def test_a_killed_probe_is_said_to_be_killed(tmp_path: Path) -> None:
    feed = ProbeFeed(WatchSpec(sources=()))
    async with following(feed) as readings:
        beat = (await until(readings, Heartbeat)).value
        assert isinstance(beat, Heartbeat)
        assert beat.pid is not None
        os.kill(beat.pid, signal.SIGKILL)
        await until(readings, ProbeState, problem="killed by SIGKILL")
        await until(readings, Heartbeat)


async def test_a_stopped_probe_is_reported_silent_and_close_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_feed, "SILENT_S", 0.3)
    feed = ProbeFeed(WatchSpec(), child("import time; time.sleep(600)"))
    async with following(feed) as readings:
        await until(readings, ProbeState, problem="no sign of life")
        started = time.monotonic()
        feed.close()
        assert time.monotonic() - started < 10, "the program sleeps for ten minutes"


async def test_a_silent_probe_is_replaced_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_feed, "SILENT_S", 0.2)
    monkeypatch.setattr(probe_feed, "GIVE_UP_S", 0.4)
    feed = ProbeFeed(WatchSpec(), child("import time; time.sleep(600)"))
    async with following(feed) as readings:
        await until(readings, ProbeState, problem="killed by SIGKILL")


async def test_a_probe_that_prints_garbage_is_not_believed() -> None:
    feed = ProbeFeed(WatchSpec(), child("import time; print('Segmentation fault', flush=True); time.sleep(600)"))
    async with following(feed) as readings:
        await until(readings, ProbeState, problem="not a reading of schema 1")


async def test_asking_a_probe_that_does_not_read_never_blocks() -> None:
    feed = ProbeFeed(WatchSpec(), child("import time; print(flush=True); time.sleep(600)"))
    async with following(feed) as readings:
        await until(readings, ProbeState)
        started = time.monotonic()
        for number in range(20_000):
            feed.ask(PageAsk(number, 0, 0, pattern="x" * 50))
        assert time.monotonic() - started < PATIENCE_S
