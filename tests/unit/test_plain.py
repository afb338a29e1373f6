"""Plain output: one line per change, and none for what was said."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.cli.commands.plain import PrintedState, changes, new_stages
from hangtop.logs.extract.stages import _newest
from hangtop.records.health import SourceHealth
from hangtop.records.log import LogReading, StageEvent
from hangtop.records.verdict import Culprit, Verdict, VerdictChanged
from hangtop.state.run_state import RunState

STATE = RunState(log=LogReading(files=()))


def said_of(said: PrintedState, *behind: int, steps: int = 2) -> list[str]:
    culprits = tuple(Culprit(rank, None, None, "possible", (f"{steps} steps behind its peers",)) for rank in behind)
    verdict = Verdict(word="running", headline="Running as before.", refute="", culprits=culprits)
    return [line.split("  ", 1)[1] for line in changes(said, STATE, verdict, 0.0)]


def test_a_laggard_of_a_healthy_run_is_named_once_and_again_when_it_fell_back_anew() -> None:
    said = PrintedState(is_begun=True)
    assert said_of(said, 3) == ["behind   rank 3: 2 steps behind its peers"]
    assert said_of(said, 3, steps=5) == []
    assert said_of(said, 3, 7) == ["behind   rank 7: 2 steps behind its peers"]
    assert said_of(said, 7) == []
    assert said_of(said) == []
    assert said_of(said, 3) == ["behind   rank 3: 2 steps behind its peers"]


def test_a_notice_that_was_not_delivered_is_one_line_until_it_is_another() -> None:
    said = PrintedState(is_begun=True)
    verdict = Verdict(word="running", headline="Running as before.", refute="")

    def told(problem: str | None) -> list[str]:
        health = SourceHealth("notify", problem=problem, absent=None if problem else "well again")
        return [line.split("  ", 1)[1] for line in changes(said, replace(STATE, health={"notify": health}), verdict, 0.0)]

    assert told("not taken by address 1") == ["notify   not taken by address 1"]
    assert told("not taken by address 1") == []
    assert told(None) == []
    assert told("not taken by address 1") == ["notify   not taken by address 1"]


def stages(count: int, first: int = 0) -> tuple[StageEvent, ...]:
    """The stages of a run that saves again and again, as the log tells them: the oldest rounds are left out."""
    events = [
        StageEvent(id_, f"{id_} {number}", "run", 0, 10 * number, at=float(number))
        for number in range(first, first + count)
        for id_ in (("checkpoint", "train_loop")[number % 2],)
    ]
    return tuple(_newest(events))


def test_every_stage_is_told_once_however_many_there_were() -> None:
    said, told = PrintedState(), []
    verdict = Verdict(word="running", headline="Running as before.", refute="")
    for count in (1, 5, 64, 65, 66, 90, 91, 300):
        state = RunState(log=LogReading(files=(), stages=stages(count)))
        told += [line.split("stage    ")[1] for line in changes(said, state, verdict, 0.0) if "stage    " in line]
    rounds = [int(line.split()[1]) for line in told]
    assert rounds == sorted(set(rounds))
    assert set(range(91)) <= set(rounds)
    assert rounds[-32:] == list(range(268, 300))


def test_after_another_log_leads_only_what_came_later_is_told() -> None:
    told = StageEvent("train_loop", "training", "run", 0, 500, at=50.0)
    other = (StageEvent("launch", "launch", "run", 1, 0, at=10.0), StageEvent("checkpoint", "save", "run", 1, 90, at=60.0))
    assert [stage.title for stage in new_stages(told, other)] == ["save"]


def verdict_lines(*changed: VerdictChanged) -> list[str]:
    """What is printed of a verdict after these changes."""
    said = PrintedState(is_begun=True)
    for change in changed:
        said.note(change)
    return [line.split("  ", 1)[1] for line in changes(said, STATE, changed[-1].verdict, 0.0)]


RUNNING = Verdict(word="running", headline="Running as before.", refute="")
CRASHED = Verdict(word="crashed", headline="Rank 3: out of memory.", refute="")


def test_a_change_is_printed_once() -> None:
    assert verdict_lines(VerdictChanged(0.0, RUNNING, CRASHED)) == ["crashed  Rank 3: out of memory."]
    assert verdict_lines(VerdictChanged(0.0, None, CRASHED)) == ["crashed  Rank 3: out of memory."]


def test_neither_a_healthy_start_nor_a_change_that_was_taken_back_is_news() -> None:
    assert verdict_lines(VerdictChanged(0.0, None, RUNNING)) == []
    assert verdict_lines(VerdictChanged(0.0, RUNNING, CRASHED), VerdictChanged(1.0, CRASHED, RUNNING)) == []
