"""When a run that was started again is past the place where the old one hung."""

from __future__ import annotations

import pytest

from hangtop.actions.prove.verify_restart import LEAST_S, RestartProgress, beyond
from hangtop.records.plan import Watch

ORDER = ("config", "dataset", "rollout", "train_loop")
AT_STEP = Watch(("/run/train.log",), stage="train_loop", title="training", order=ORDER, step=3)
IN_STAGE = Watch(("/run/train.log",), stage="rollout", title="rollout", order=ORDER)


@pytest.mark.parametrize(("step", "is_beyond"), [(None, False), (2, False), (3, False), (4, True)])
def test_beyond_a_step_is_the_step_after_it_whatever_the_stage(step: int | None, is_beyond: bool) -> None:
    assert beyond(AT_STEP, ORDER, step) is is_beyond


@pytest.mark.parametrize(
    ("entered", "step", "is_beyond"),
    [
        ((), None, False),
        (("config", "dataset"), 5, False),
        (("config", "rollout"), None, False),
        (("config", "rollout"), 1, True),
        (("config", "rollout", "dataset"), None, True),
        (("config", "train_loop"), None, True),
        (("config", "unheard_of"), None, False),
    ],
)
def test_beyond_a_stage_is_the_one_after_it_or_a_step_in_it(entered: tuple[str, ...], step: int | None, is_beyond: bool) -> None:
    assert beyond(IN_STAGE, entered, step) is is_beyond


def test_a_run_that_hung_before_any_stage_is_beyond_with_its_first() -> None:
    assert not beyond(Watch(("x",)), (), None)
    assert beyond(Watch(("x",)), ("config",), None)


def test_it_has_passed_when_the_time_of_the_step_has_gone_by_once_more() -> None:
    passage = RestartProgress(AT_STEP, 0.0)
    assert passage.look(10.0, ORDER, 3, 10.0) == "before"
    assert passage.look(30.0, ORDER, 4, 30.0) == "beyond"
    assert passage.look(49.0, ORDER, 4, 49.0) == "beyond"
    assert passage.look(50.0, ORDER, 4, 49.0) == "passed"


def test_one_step_before_the_place_is_not_past_it() -> None:
    passage = RestartProgress(AT_STEP, 0.0)
    passage.look(1.0, ORDER, 1, 1.0)
    assert passage.look(2.0, ORDER, 2, 2.0) == "before"
    assert passage.look(500.0, ORDER, 2, 500.0) == "before"


def test_a_run_that_falls_silent_right_behind_the_place_has_not_passed_it() -> None:
    passage = RestartProgress(AT_STEP, 0.0)
    passage.look(1.0, ORDER, 3, 1.0)
    passage.look(2.0, ORDER, 4, 2.0)
    assert passage.look(500.0, ORDER, 4, 2.0) == "beyond"


def test_steps_faster_than_the_looks_are_given_two_looks() -> None:
    passage = RestartProgress(AT_STEP, 0.0)
    passage.look(1.0, ORDER, 2, 1.0)
    passage.look(1.1, ORDER, 9, 1.1)
    assert passage.look(1.1 + LEAST_S / 2, ORDER, 12, 2.0) == "beyond"
    assert passage.look(1.1 + LEAST_S, ORDER, 15, 3.0) == "passed"
