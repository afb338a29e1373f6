"""Questions to a source, from when they are asked to their end; what is said of one that takes long."""

from __future__ import annotations

from hangtop.monitor.questions import late, unanswered
from hangtop.probe.source_runner import MOST_ALIKE, PATIENCE_S, Questions
from hangtop.records.ask import AskEnd, LaunchAsk, PageAsk, RayAsk, StacksAsk
from hangtop.records.health import Heartbeat, ProbeState, SourceHealth
from hangtop.records.reading import Reading, Value
from hangtop.state.run_state import RunState, fold

ASK = LaunchAsk(7)


def state_of(*values: Value) -> RunState:
    state = RunState()
    for value in values:
        state = fold(state, Reading("x", "n1", 1.0, value))
    return state


def test_only_pages_displace_each_other_and_kinds_never_do():
    questions = Questions()
    assert questions.put(PageAsk(1, 0, 0), 0.0) == []
    assert questions.put(StacksAsk(1), 0.0) == []
    assert questions.put(PageAsk(2, 0, 0), 0.0) == [AskEnd(1, "page", "a newer question took its place")]
    assert questions.put(StacksAsk(2), 0.0) == []
    assert [questions.next(0.0) for _ in range(4)] == [StacksAsk(1), PageAsk(2, 0, 0), StacksAsk(2), None]


def test_questions_of_one_kind_do_not_pile_up():
    questions = Questions()
    ends = [end for number in range(MOST_ALIKE + 2) for end in questions.put(StacksAsk(number), 0.0)]
    assert [end.ask for end in ends] == [0, 1]


def test_an_answer_stops_for_a_newer_page_but_not_for_other_stacks():
    questions = Questions()
    for first, second, stops in ((PageAsk(1, 0, 0), PageAsk(2, 0, 0), True), (StacksAsk(1), StacksAsk(2), False)):
        questions.put(first, 0.0)
        assert questions.next(0.0) == first
        questions.put(second, 0.0)
        assert questions.is_displaced(first) is stops
        assert questions.next(0.0) == second


def test_who_waits_and_who_is_answered_without_a_sign_of_life_end_once():
    questions = Questions()
    questions.put(StacksAsk(1), 0.0)
    questions.next(0.0)
    questions.put(LaunchAsk(2), 1.0)
    assert questions.overdue("it hangs", PATIENCE_S - 1) == []
    questions.part_sent(10.0)
    assert questions.overdue("it hangs", PATIENCE_S + 1) == [AskEnd(2, "launch", "it hangs")]
    assert questions.overdue("it hangs", PATIENCE_S + 10) == [AskEnd(1, "stacks", "it hangs")]
    assert questions.end(StacksAsk(1), None) is None


def test_a_problem_is_that_of_this_kind_and_number():
    state = state_of(AskEnd(7, "stacks", "py-spy failed"), AskEnd(6, "launch", "gone"))
    assert unanswered(state, ASK) is None
    assert unanswered(state_of(AskEnd(7, "launch", "gone")), ASK) == "gone"
    assert unanswered(state_of(AskEnd(7, "launch", "gone")), RayAsk(7), ASK) == "gone"


def test_all_that_have_ended_without_an_answer_had_nothing_to_tell():
    state = state_of(AskEnd(7, "launch"))
    assert unanswered(state, ASK) == "the launch source had nothing to tell"
    assert unanswered(state, ASK, RayAsk(7)) is None
    assert unanswered(state) is None


def test_what_is_late_is_told_with_its_age_and_what_its_source_does():
    well = state_of(Heartbeat((SourceHealth("launch", 1.0, deadline_s=5.0),)))
    assert late(well, ASK, 4.0) is None
    assert late(well, ASK, 6.0) == "no answer for 6s from the launch source"
    busy = state_of(Heartbeat((SourceHealth("launch", None, 9.0, 5.0, "the disk hangs"),)))
    assert late(busy, ASK, 70.0) == "no answer for 1:10 from the launch source, which is busy for 9s: the disk hangs"
    dead = state_of(ProbeState(alive=False, problem="the probe gave no sign of life for 10 s"))
    assert late(dead, ASK, 1.0) == "no answer for 1s: the probe gave no sign of life for 10 s"
    assert late(state_of(AskEnd(7, "launch")), ASK, 70.0) is None
