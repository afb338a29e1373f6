"""One brake for all that tell a verdict: screen, check, plain lines, recovery, replay."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from hangtop.cli.commands import check, plain
from hangtop.monitor.monitor import Monitor
from hangtop.records.health import SourceHealth
from hangtop.records.log import LogFile, LogReading, Progress
from hangtop.records.verdict import VerdictChanged
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from tests.fakes import members
from tests.fakes.members import LOCK, four
from tests.fakes.waited import waits, watch, watched

NOW = 10_000.0
SPEC = WatchSpec(logs=("train.log",))


def silent(now: float, *, announced: bool = False, silence_s: float = 130.0) -> RunState:
    """A run that wrote its last line so long ago: stalled, or slow where it had said that it would wait."""
    log = LogReading(
        files=(LogFile("train.log", size_bytes=9),),
        bytes=9,
        progress=Progress(step=3),
        last_output_at=now - silence_s,
        announced_until=now + 60 if announced else None,
    )
    return RunState(log=log, health={"log": SourceHealth("log", read_at=now)}, heard_at=now)


FLAPS = [silent(NOW + second, announced=second % 2 == 1, silence_s=130.0 + second) for second in range(4)]


def test_a_calmer_verdict_is_held_back_and_output_that_resumes_is_not() -> None:
    monitor = Monitor(SPEC)
    assert [monitor.look(state, NOW + second) and monitor.verdict.word for second, state in enumerate(FLAPS)] == ["stalled"] * 4
    assert not monitor.stands
    monitor.look(silent(NOW + 5, silence_s=0.5), NOW + 5)
    assert (monitor.verdict.word, monitor.stands) == ("running", True)


def test_a_draft_holds_nothing_back() -> None:
    monitor = Monitor(SPEC)
    monitor.look(FLAPS[0], NOW, draft=True)
    monitor.look(FLAPS[1], NOW + 1)
    assert monitor.verdict.word == "slow"


def test_subscribers_are_told_of_each_change_once_and_of_no_draft() -> None:
    told: list[VerdictChanged] = []
    monitor = Monitor(SPEC, (told.append,))
    monitor.look(silent(NOW), NOW, draft=True)
    assert told == []
    for second in range(3):
        monitor.look(silent(NOW + second, silence_s=1.0 + second), NOW + second)
    monitor.look(silent(NOW + 200), NOW + 200)
    assert [(change.at, change.before and change.before.word, change.verdict.word) for change in told] == [
        (NOW, None, "running"),
        (NOW + 200, "running", "stalled"),
    ]


def test_subscribers_are_told_at_once_that_nothing_can_be_seen() -> None:
    told: list[VerdictChanged] = []
    lost = RunState(health={"log": SourceHealth("log", problem="the file system does not answer")})
    Monitor(SPEC, (told.append,)).look(lost, NOW, draft=True)
    assert [change.verdict.word for change in told] == ["blind"]


class NoFeed:
    def ask(self, ask: object) -> None: ...

    def close(self) -> None: ...


async def in_turn(*_: object) -> AsyncIterator[RunState]:
    for state in FLAPS:
        yield state


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look is a second after the one before."""
    ticks = iter(range(1_000))
    for command in (check, plain):
        monkeypatch.setattr(command, "states", in_turn)
    monkeypatch.setattr("hangtop.common.clock.now", lambda: NOW + next(ticks) / 4)


@pytest.mark.usefixtures("clock")
def test_plain_lines_tell_a_verdict_that_flaps_once() -> None:
    out = io.StringIO()
    times = iter(range(1_000))
    asyncio.run(plain.watch(NoFeed(), SPEC, out, lambda: NOW + next(times) / 100, frozenset()))  # type: ignore[arg-type]
    assert out.getvalue().count("  stalled  ") == 1
    assert "  slow " not in out.getvalue()


@pytest.mark.usefixtures("clock")
def test_check_says_what_the_screen_would_say() -> None:
    _, verdict = asyncio.run(check.verdict_once(NoFeed(), SPEC, 60.0))  # type: ignore[arg-type]
    assert verdict.word == "stalled"


def test_nobody_says_that_a_run_hangs_by_its_stacks_before_its_waits_were_watched() -> None:
    def word(state: RunState) -> str:
        monitor = Monitor(members.SPEC)
        monitor.look(state, members.NOW)
        return monitor.verdict.word

    state = four(LOCK)
    coming = replace(state, health={**state.health, "waits": SourceHealth("waits", read_at=members.NOW)})
    assert word(state) == "hung", "nobody watches"
    assert word(coming) == "stalled"
    seen = watch(
        *(watched(100 + rank, waits(100 + rank, kind="futex")) for rank in range(4)),
        at=members.NOW - 3,
        asked=(100, 101, 102, 103),
    )
    assert word(replace(coming, waits=seen)) == "hung"
    late = tuple(replace(look, started_at=look.started_at - 20) for look in coming.looks)
    assert word(replace(coming, looks=late)) == "hung", "the watch does not come"
