"""What a verdict rests on, and what could not be seen: on the page "why" and in the report."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.check_report import report
from hangtop.diagnosis.judge import RULES, diagnose, judge
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.diagnosis.sources_seen import sources_seen
from hangtop.diagnosis.why import NO_RULE, Why, why
from hangtop.records.health import SourceHealth
from hangtop.records.ray.cluster import RayApi, RayCluster, RayReading
from hangtop.records.stack import Stack, StacksReading
from hangtop.render.evidence_rows import why_rows
from hangtop.state.run_state import RunState
from tests.fakes.members import ALL_REDUCE, LOCK, NOW, SPEC, four, process, run

MEND = "sudo sysctl kernel.yama.ptrace_scope=0"


def told(state: RunState) -> Why:
    snapshot = take_snapshot(state, SPEC, NOW)
    return why(snapshot, judge(snapshot))


def refusing(state: RunState) -> RunState:
    """The same run, of which no stack may be read."""
    stacks = tuple(Stack(100 + rank, NOW, problem="permission denied", mend=MEND, started_ticks=7) for rank in range(4))
    looks = (StacksReading(1, started_at=NOW - 3, done=True, stacks=stacks),)
    return replace(state, looks=looks, health={**state.health, "stacks": SourceHealth("stacks", NOW - 3)})


class TestTheRule:
    def test_the_rule_that_held_is_named_in_its_own_words(self):
        found = told(four(LOCK))
        assert found.rule == "straggler"
        assert found.meaning == "Ranks wait for other ranks that neither work nor come."

    def test_a_healthy_run_is_one_of_which_no_rule_holds(self):
        found = told(four(LOCK, silence_s=1))
        assert (found.rule, found.meaning) == ("", NO_RULE)

    def test_each_rule_has_words(self):
        assert all((rule.__doc__ or "").partition("Stands ")[0].strip() for rule in RULES)


class TestTheFacts:
    def test_each_member_is_told_with_what_it_does_and_those_alike_together(self):
        texts = [fact.text for fact in told(four(LOCK)).facts]
        assert any(text.startswith("Rank 2: status waits: ") and "its stack stands still" in text for text in texts)
        assert any(text.startswith("Ranks 0-1 3: status collective: ") for text in texts)

    def test_the_evidence_of_the_verdict_comes_first_and_nothing_comes_twice(self):
        state = four(LOCK)
        facts = told(state).facts
        assert facts[: len(diagnose(state, SPEC, NOW).evidence)] == diagnose(state, SPEC, NOW).evidence
        assert len({*facts}) == len(facts)

    def test_the_report_carries_them(self):
        snapshot = take_snapshot(four(LOCK), SPEC, NOW)
        assert report(snapshot, judge(snapshot)).why == told(four(LOCK))


class TestWhatCouldNotBeSeen:
    def test_refused_stacks_are_said_with_the_command_that_grants_them(self):
        state = refusing(four(LOCK))
        seen = sources_seen(state, NOW)["stacks"]
        assert not seen.ok
        assert seen.problem == f"permission denied: {MEND}"
        rows = ["".join(text for text, _ in row) for row in why_rows(told(state), 100)]
        assert any(row.startswith("Not seen") for row in rows)
        assert any(MEND in row for row in rows)

    def test_of_some_refused_stacks_their_number_is_said(self):
        state = four(LOCK)
        look = state.looks[-1]
        stacks = (*look.stacks[:3], Stack(103, NOW, problem="permission denied", mend=MEND))
        health = {"stacks": SourceHealth("stacks", NOW)}
        seen = sources_seen(replace(state, looks=(replace(look, stacks=stacks),), health=health), NOW)["stacks"]
        assert seen.ok
        assert seen.problem == f"1 of 4 stacks refused: permission denied: {MEND}"

    def test_a_silence_that_no_stack_explains_is_only_possibly_slow(self):
        busy = replace(process(2).recent, cpu_percent=80.0)
        state = run({0: ALL_REDUCE}, (process(0), process(1), process(2, busy), process(3)))
        assert diagnose(state, SPEC, NOW).confidence == "likely"
        assert diagnose(refusing(state), SPEC, NOW).confidence == "possible"

    def test_processes_whose_facts_are_hidden_are_counted(self):
        state = four(LOCK)
        assert state.procs is not None
        hidden = tuple(replace(each, missing_right="sudo hangtop") for each in state.procs.processes[:2])
        procs = replace(state.procs, processes=(*hidden, *state.procs.processes[2:]), missing_right="sudo hangtop")
        seen = sources_seen(replace(state, procs=procs, health={"procs": SourceHealth("procs", NOW)}), NOW)["procs"]
        assert seen.ok
        assert seen.problem == "2 processes of this run hidden: sudo hangtop"

    def test_a_source_that_does_not_answer_is_not_well(self):
        seen = sources_seen(replace(four(LOCK), health={"gpu": SourceHealth("gpu", NOW - 60, busy_s=44.0)}), NOW)["gpu"]
        assert (seen.ok, seen.age_s, seen.problem) == (False, 60.0, "has not answered for 44s")

    def test_a_source_that_was_not_read_yet_says_so(self):
        seen = sources_seen(replace(four(LOCK), health={"ray": SourceHealth("ray")}), NOW)["ray"]
        assert (seen.ok, seen.age_s, seen.problem) == (False, None, "has told nothing yet")

    def test_data_of_ray_is_old_while_its_gcs_does_not_answer(self):
        api = RayApi("127.0.0.1:8265", "ok", since=NOW - 500, gcs_ok=False, gcs_since=NOW - 40, actors_at=NOW - 40)
        reading = RayReading(clusters=(RayCluster("session_1", api=api),), named=True)
        seen = sources_seen(replace(four(LOCK), ray={"": reading}, health={"ray": SourceHealth("ray", NOW)}), NOW)["ray"]
        assert not seen.ok
        assert (seen.problem or "").endswith("the GCS does not answer")
