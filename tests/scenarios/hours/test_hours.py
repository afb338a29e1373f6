"""The hours are fair questions, and the replay sees what it should: proven on runs that are not among them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.scenarios.hours.catalog import HOURS
from tests.scenarios.hours.replay import replay
from tests.scenarios.hours.run import HOUR_S, Hour, Run, tqdm


@pytest.mark.parametrize("name", HOURS)
def test_an_hour_is_fair_and_always_the_same(name: str) -> None:
    run = HOURS[name].told()
    assert not list(run.unfair())
    assert run.events == HOURS[name].told().events
    assert run.events[0].at <= 0.0
    assert run.events[-1].at > HOUR_S - 130.0 or run.ended_at is not None


@pytest.mark.parametrize("name", HOURS)
def test_an_hour_is_never_called_anything_but_well(name: str) -> None:
    watched = replay(HOURS[name])
    assert (len(watched.alarms), watched.finished_early_s) == (0, 0)


def test_there_are_twenty() -> None:
    assert len(HOURS) == 20


def test_the_replay_hears_a_run_that_falls_silent() -> None:
    def stuck(run: Run) -> None:
        for step in range(1, 1201):
            if step == 600:
                run.rotate()
            run.say(f"{run.time()} step {step}/100000 loss {run.falling(step, 9, 2, 300):.4f}")
            run.wait(1)

    watched = replay(Hour("stuck", stuck, ("train.log",), datetime(2026, 3, 1, 9, tzinfo=UTC)))
    [alarm] = watched.alarms
    assert 1200 < alarm.at <= 1200 + 130
    assert alarm.at + alarm.seconds >= HOUR_S
    assert len(watched.changes) == watched.worst_minute == 1
    assert watched.finished_early_s == 0


def test_a_bar_is_drawn_as_tqdm_draws_it() -> None:
    assert tqdm("Map", 3, 8, 6.0, ", loss=1") == "\rMap:  38%|███▊      | 3/8 [00:06<00:10,  2.00s/it, loss=1]"
    assert tqdm("", 0, 8, 0.0) == "\r  0%|          | 0/8 [00:00<?, ?it/s]"


def test_a_silence_that_nothing_tells_is_unfair() -> None:
    run = Run(datetime(2026, 3, 1, 9, tzinfo=UTC), "train.log", 1)
    for seconds in (10, 150, 10):
        run.say("step")
        run.wait(seconds)
    run.say("saving")
    run.pause(150)
    run.finish("done")
    assert list(run.unfair()) == [(10.0, 150.0)]
