"""Only what a signal stopped is continued; what a debugger holds is named."""

from __future__ import annotations

from hangtop.actions.plans.continue_plan import ContinuePlanner
from hangtop.actions.registry import Choices, Request
from hangtop.records.plan import Plan, Refusal
from hangtop.records.process import Process
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.plan_rows import rows
from hangtop.render.spans import plain
from tests.unit.test_stop_plan import ME, process, run


def made(*processes: Process, rank: int | None = None) -> Plan | Refusal:
    return ContinuePlanner().plan(run(*processes), Request(ME, WatchSpec(), 0.0, Choices(rank=rank)), ())


def test_stopped_processes_get_the_signal_and_the_others_nothing() -> None:
    plan = made(process(101, 45, rank=0), process(102, 45, rank=1, state="T"), process(103, 102, state="T"))
    assert isinstance(plan, Plan)
    assert [target.pid for target in plan.targets] == [103, 102]
    assert plan.signal == "SIGCONT"
    shown = "\n".join(map(plain, rows(plan, 200)))
    assert "CONT, once." in shown
    assert "KILL" not in shown


def test_what_a_debugger_holds_is_named_and_left() -> None:
    refused = made(process(101, 45, rank=0, state="t", tracer_pid=900))
    assert isinstance(refused, Refusal)
    assert refused.why == "nothing of the run that is yours is stopped; pid 101 python: a debugger holds it: end the debugger"
    plan = made(process(101, 45, rank=0, state="t", tracer_pid=900), process(102, 45, rank=1, state="T"))
    assert isinstance(plan, Plan)
    assert [left.what for left in plan.spared] == ["pid 101 python"]


def test_a_rank_alone_can_be_chosen_and_another_user_s_is_never() -> None:
    ranks = process(101, 45, rank=0, state="T"), process(102, 45, rank=1, state="T"), process(103, 45, rank=2, state="T", uid=7)
    plan = made(*ranks, rank=1)
    assert isinstance(plan, Plan)
    assert [target.pid for target in plan.targets] == [102]
    refused = made(*ranks, rank=2)
    assert isinstance(refused, Refusal)
    assert refused.why == "nothing of rank 2 that is yours is stopped; pid 103 python: it belongs to 7"
    whole = made(*ranks)
    assert isinstance(whole, Plan)
    assert [target.pid for target in whole.targets] == [101, 102]
    assert "pid 103" in "\n".join(map(plain, rows(whole, 200)))


def test_where_nothing_is_stopped_nothing_is_to_be_done() -> None:
    refused = made(process(101, 45, rank=0))
    assert isinstance(refused, Refusal)
    assert refused.nothing_to_do


def test_another_user_s_process_that_runs_is_no_reason() -> None:
    refused = made(process(101, 45, rank=0), process(102, 45, rank=1, uid=7))
    assert refused == Refusal("nothing of the run that is yours is stopped", nothing_to_do=True)
