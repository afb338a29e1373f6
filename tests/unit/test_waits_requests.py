"""When the waits of the members are watched, and what a verdict waits for."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.monitor.stack_requests import satisfied, waits_request
from hangtop.records.health import SourceHealth
from hangtop.records.watched_waits import WaitsReading
from hangtop.state.run_state import RunState
from tests.fakes.members import LOCK, NOW, SPEC, four

MEMBERS = (100, 101, 102, 103)


def quiet(waits: WaitsReading | None) -> RunState:
    state = four(LOCK)
    health = {**state.health, "stacks": SourceHealth("stacks", NOW), "waits": SourceHealth("waits", NOW)}
    return replace(state, waits=waits, health=health)


def asks(state: RunState) -> bool:
    return waits_request(take_snapshot(state, SPEC, NOW)) is not None


def done(at: float = NOW - 5, asked: tuple[int, ...] = MEMBERS) -> WaitsReading:
    return WaitsReading(1, at, asked, windows=4, seconds=2.8, done=True)


def test_waits_are_watched_in_a_quiet_run_and_again_after_a_while() -> None:
    assert not asks(replace(four(LOCK, silence_s=5), looks=()))
    assert asks(quiet(None))
    assert not asks(quiet(done()))
    assert asks(quiet(done(NOW - 30)))
    assert asks(quiet(done(NOW - 900))), "of an earlier silence"
    assert asks(quiet(done(asked=MEMBERS[:2]))), "two members came since"


def test_a_verdict_waits_for_the_end_of_the_watch() -> None:
    def enough(waits: WaitsReading | None) -> bool:
        return satisfied(take_snapshot(quiet(waits), SPEC, NOW))

    assert not enough(None)
    assert not enough(replace(done(), done=False))
    assert not enough(done(asked=MEMBERS[:2]))
    assert enough(done())
    refused = replace(quiet(None), health={"waits": SourceHealth("waits", NOW, absent="only Linux tells it")})
    assert satisfied(take_snapshot(refused, SPEC, NOW)), "no watch will come"
