"""What a recovery takes over of the advice: the preset of the likeliest cause, said in its plan, and easily left out."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.actions.plans.advised import offered, taken_over
from hangtop.actions.plans.presets import Because, named, presets, with_presets
from hangtop.records.advice import Advice
from hangtop.records.plan import Plan, Start
from hangtop.render.plan_rows import rows
from hangtop.render.spans import plain
from hangtop.state.run_state import RunState
from hangtop.tui.dialogs.start_changes import StartChanges

PLAN = Plan(
    "recover", "Recover the run", start=Start(("python", "t.py", "--num_workers", "4"), "/", "/t.log", interfaces=("eth0",))
)
WORKER = Advice("data worker 7 is dead", "Restart without workers", "command line", "seen", "source", place="data_loader")
NO_WORKERS = replace(WORKER, preset="no_workers")
ELSEWHERE = Advice("the network", "Let NCCL say", "environment", "seen", "source", place="collective", preset="nccl")


def taken(*advice: Advice, plan: Plan = PLAN) -> str | None:
    assert plan.start is not None
    found = taken_over(offered(RunState(), advice, plan.start), advice)
    return None if found is None else found[0].id


def test_the_first_preset_of_the_likeliest_cause_is_taken_over() -> None:
    assert taken(WORKER, NO_WORKERS, replace(WORKER, preset="recorder"), ELSEWHERE) == "no_workers"


def test_what_only_a_less_likely_cause_names_is_not() -> None:
    assert taken(WORKER, ELSEWHERE) is None
    assert taken() is None


def test_a_preset_that_does_not_fit_the_command_is_not() -> None:
    assert taken(NO_WORKERS, plan=replace(PLAN, start=Start(("python", "t.py"), "/", "/t.log"))) is None
    assert taken(replace(ELSEWHERE, preset="interface"), plan=replace(PLAN, start=Start(("python",), "/", "/t.log"))) is None
    assert taken(replace(ELSEWHERE, preset="no_such_preset")) is None


@pytest.mark.parametrize("preset", [preset for preset in presets() if preset.test], ids=lambda preset: preset.id)
def test_a_test_is_offered_first_and_never_taken_over(preset) -> None:
    advice = (replace(ELSEWHERE, preset=preset.id),)
    start = Start(("torchrun", "--nproc_per_node", "4", "t.py"), "/", "/t.log", interfaces=("eth0",))
    assert taken_over(offered(RunState(), advice, start), advice) is None
    if not preset.frameworks:
        assert offered(RunState(), advice, start)[0].id == preset.id


def test_what_makes_a_run_smaller_or_changes_its_transport_is_a_test() -> None:
    tests = {preset.id for preset in presets() if preset.test}
    assert {
        preset.id for preset in presets() if any("nnodes" in each.name or "gpus" in each.name for each in preset.options)
    } <= tests
    assert {preset.id for preset in presets() if any(name.endswith("_DISABLE") for name in preset.env)} <= tests


def test_the_plan_says_what_changes_why_and_how_to_leave_it_out() -> None:
    plan = with_presets(PLAN, named(["no_workers"]), None, Because("no_workers", "data worker 7 is dead"))
    said = "\n".join(plain(row) for row in rows(plan, 200))
    assert "changed  --num_workers 0" in said
    assert "python t.py --num_workers 0" in said
    assert said.startswith("advised  no data workers: data worker 7 is dead; --as-it-was leaves it out")


def test_in_the_dialog_its_digit_takes_it_back() -> None:
    assert PLAN.start is not None
    changes = StartChanges(PLAN, lambda start: offered(RunState(), (NO_WORKERS,), start), (NO_WORKERS,))
    assert changes.chosen == {"no_workers"}
    assert changes.plan.start is not None
    assert changes.plan.start.argv == ("python", "t.py", "--num_workers", "0")
    assert changes.plan.advised == "no data workers: data worker 7 is dead; 1 takes it back"
    changes.press(1)
    assert changes.plan == PLAN
    changes.press(2)
    assert changes.plan.advised == ""


def test_without_such_advice_a_plan_stays_as_it_was() -> None:
    assert StartChanges(PLAN, lambda start: offered(RunState(), (), start)).plan == PLAN
    assert StartChanges(PLAN, lambda start: offered(RunState(), (WORKER,), start), (WORKER,)).plan == PLAN
