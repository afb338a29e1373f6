"""The pace and the time to go, learned from the steps of a log in many forms."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.facts.silence_limits import limit_of
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from tests.fakes.read_log import read


def lines(template: str, count: int) -> str:
    return "".join(template.format(i=i) for i in range(1, count + 1))


def test_pace_is_learned_from_the_clock_of_the_log() -> None:
    text = "".join(f"2026-01-11 10:{i:02d}:00,000 - INFO - step {i}/50 loss 0.5\n" for i in range(1, 31))
    reading = read(text)
    assert (reading.pace.p50_s, reading.pace.p95_s, reading.progress.eta_s) == (60.0, 60.0, 20 * 60.0)


def test_a_log_that_tells_each_tenth_step_is_given_the_time_of_ten() -> None:
    text = "".join(
        f"2026-01-11 {10 + i // 24:02d}:{i % 24 * 2:02d}:30,000 - INFO - step {10 * i}/900 loss 0.5\n" for i in range(1, 31)
    )
    reading = read(text)
    assert (reading.pace.p50_s, reading.pace.every) == (12.0, 10.0)
    assert limit_of(RunState(log=reading), WatchSpec(logs=("x",)), reading.stages[-1]).stalled_s > 300


def test_steps_that_arrive_at_once_share_the_time_until_the_next_ones() -> None:
    text = "".join(
        f"2026-01-11 10:{i:02d}:00,000 - INFO - step {step}/900 loss 0.5\n" for i in range(1, 31) for step in (2 * i, 2 * i + 1)
    )
    reading = read(text)
    assert (reading.pace.p50_s, reading.pace.every) == (30.0, 2.0)


@pytest.mark.parametrize(("every", "left_s"), [(10, 50 * 1.9), (50, 50 * 1.0)])
def test_the_time_to_go_has_the_pauses_that_come_again_and_not_the_one_that_is_over(every: int, left_s: float) -> None:
    """A step takes a second, and each `every`-th ten: what came once, and makes little difference, is not what is to come."""
    at, text = 0, ""
    for step in range(1, 92):
        at += 10 if step % every == 0 else 1
        text += f"2026-01-11 10:{at // 60:02d}:{at % 60:02d},000 - INFO - step {step}/141 loss 0.5\n"
    reading = read(text)
    assert reading.pace.p50_s == 1.0
    assert reading.progress.eta_s == pytest.approx(left_s, rel=0.12)


def test_no_time_to_go_is_told_before_it_can_be_known() -> None:
    """All ranks wait for one of them in every tenth step: nine steps take 0.2 s, the tenth 8 s."""
    ms, text, told = 0, "", {}
    for step in range(1, 41):
        ms += 8_000 if step % 10 == 0 else 200
        text += f"2026-01-11 10:{ms // 60_000:02d}:{ms // 1_000 % 60:02d},{ms % 1_000:03d} - INFO - step {step}/40 loss 0.5\n"
        if (eta_s := read(text).progress.eta_s) is not None:
            told[step] = eta_s
    assert min(told) == 20
    assert told[20] == pytest.approx(20 * 0.98, rel=0.1)


def test_a_long_first_step_delays_the_time_to_go_no_longer_than_a_few_steps_and_a_hang_that_is_over_not_for_ever() -> None:
    def text(long_at: int, steps: int) -> str:
        seconds = [sum(300 if n == long_at else 1 for n in range(1, step + 1)) for step in range(steps)]
        return "".join(
            f"2026-01-11 10:{s // 60:02d}:{s % 60:02d},000 - INFO - step {n}/999 loss 0.5\n" for n, s in enumerate(seconds)
        )

    assert read(text(1, 12)).progress.eta_s == pytest.approx(999 - 11)
    assert read(text(50, 60)).progress.eta_s is None
    assert read(text(50, 160)).progress.eta_s == pytest.approx(999 - 159)


def rounds(count: int, each: int, total: str) -> str:
    return "".join(f"step {i}{total} loss {2.0 - i / each:.2f}\n" for _ in range(count) for i in range(each))


@pytest.mark.parametrize(("total", "kept"), [("/1000", 14), ("/15", 29)])
def test_the_losses_before_a_run_that_begins_anew_are_not_its_own_those_of_the_round_before_are(total: str, kept: int) -> None:
    assert len(read(rounds(2, 15, total)).progress.history["loss"]) == kept
