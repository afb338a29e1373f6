"""A command that a guard carries out: when it refuses, and what it says before it waits for the guard's word."""

from __future__ import annotations

import io

import pytest

from hangtop.cli.commands import action
from hangtop.records.plan import Fit, Plan, Start
from hangtop.records.stopped import AWAITS_GUARD, FOR_GUARD

UNSEEN = ("n3: no route to host",)
START = Start(("train",), "/runs", "/runs/train.log")


@pytest.fixture(autouse=True)
def carried_out(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans that came to be carried out."""
    plans: list[Plan] = []

    async def carry_out(plan: Plan, _: object) -> int:
        plans.append(plan)
        return 0

    monkeypatch.setattr(action, "_carry_out", carry_out)
    monkeypatch.setattr(action, "wait_for_start_check", lambda _: Fit())
    monkeypatch.setattr("sys.stdin", io.StringIO("begin\n"))
    return plans


def said(plan: Plan, command: str) -> tuple[int, str]:
    out = io.StringIO()
    return action.show(plan, command, yes=True, out=out), out.getvalue()


@pytest.mark.parametrize(
    ("deed", "plan"),
    [
        ("restart", Plan("restart", "Restart the run", start=START, unseen=UNSEEN)),
        ("recover", Plan("recover", "Recover the run", start=START, unseen=UNSEEN)),
        ("restart", Plan("stop", "Stop the run", unseen=UNSEEN)),
    ],
)
def test_a_guard_starts_nothing_while_a_node_cannot_be_seen(
    monkeypatch: pytest.MonkeyPatch, carried_out: list[Plan], deed: str, plan: Plan
) -> None:
    monkeypatch.setenv(FOR_GUARD, deed)
    code, text = said(plan, plan.action)
    assert (code, carried_out) == (2, [])
    assert "the run may live on a node that cannot be seen: a guard starts nothing then" in text
    assert AWAITS_GUARD not in text


def test_a_guard_restarts_nothing_to_which_a_person_must_agree(monkeypatch: pytest.MonkeyPatch, carried_out: list[Plan]) -> None:
    monkeypatch.setenv(FOR_GUARD, "restart")
    doubt = "nothing of the run is seen on n2, so nothing is started there"
    code, text = said(Plan("restart", "Restart the run", start=START, word="restart", warnings=(doubt,)), "restart")
    assert (code, carried_out) == (2, [])
    assert f"a person must agree to this one: {doubt}" in text


def test_it_stops_what_it_sees(monkeypatch: pytest.MonkeyPatch, carried_out: list[Plan]) -> None:
    monkeypatch.setenv(FOR_GUARD, "stop")
    plan = Plan("stop", "Stop the run", unseen=UNSEEN)
    code, text = said(plan, "stop")
    assert (code, carried_out, text.splitlines()[-1]) == (0, [plan], AWAITS_GUARD)


def test_a_person_leaves_a_node_out_that_is_gone_before_the_run_starts_again(
    monkeypatch: pytest.MonkeyPatch, carried_out: list[Plan]
) -> None:
    """On a slow line a node may not have answered yet: the run would start beside the half of it that lives there."""
    monkeypatch.delenv(FOR_GUARD, raising=False)
    code, text = said(Plan("restart", "Restart the run", start=START, unseen=UNSEEN), "restart")
    assert (code, carried_out) == (2, [])
    assert f"leave it out of --hosts if it is gone: {UNSEEN[0]}" in text
    without = Plan("restart", "Restart the run", start=START)
    code, text = said(without, "restart")
    assert (code, carried_out, AWAITS_GUARD in text) == (0, [without], False)
