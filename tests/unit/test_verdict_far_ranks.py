"""Verdicts over ranks that wait for ranks of other machines, of which nothing here tells what they do."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.health import SourceHealth
from hangtop.records.nodes import source_of
from hangtop.records.process import ProcessReading, Rendezvous
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from tests.fakes.members import ALL_REDUCE, NOW, SPEC, process, run


def two_of_four(meeting: Rendezvous | None) -> RunState:
    """Ranks 2 and 3 of four wait in a collective; the others have no process here."""
    here = tuple(replace(process(rank), world=4) for rank in (2, 3))
    known = run({2: ALL_REDUCE, 3: ALL_REDUCE}, here)
    return replace(known, procs=ProcessReading(processes=here, rendezvous=meeting))


def test_ranks_of_another_machine_may_be_at_work() -> None:
    master_is_there = Rendezvous("10.0.0.1", 29500, 4, listening=False, established=2, joined=(2, 3))
    said = diagnose(two_of_four(master_is_there), SPEC, NOW)
    assert (said.word, said.confidence, said.culprits) == ("stalled", "possible", ())
    assert said.headline.startswith("All 2 ranks here wait in all_reduce for ranks 0-1 on other machines.")
    joined_from_there = Rendezvous("10.0.0.2", 29500, 4, listening=True, established=4, joined=(2, 3), from_elsewhere=2)
    assert diagnose(two_of_four(joined_from_there), SPEC, NOW).word == "stalled"


def test_a_wait_for_them_beyond_all_reason_is_a_hang() -> None:
    master_is_there = Rendezvous("10.0.0.1", 29500, 4, listening=False, established=2, joined=(2, 3))
    assert diagnose(two_of_four(master_is_there), replace(SPEC, stall_s=1.0), NOW).word == "hung"


def test_ranks_that_nothing_proves_to_be_elsewhere_may_not_be_at_all() -> None:
    nobody_came = Rendezvous("10.0.0.2", 29500, 4, listening=True, established=2, joined=(2, 3), from_elsewhere=0)
    for meeting in (None, nobody_came):
        assert diagnose(two_of_four(meeting), SPEC, NOW).word == "hung"


def unseen(state: RunState, *hosts: str, problem: str | None) -> tuple[RunState, WatchSpec]:
    """Nodes that were named; each says this problem, or has told of its processes."""
    health = {source_of(host): SourceHealth(source_of(host), NOW if problem is None else None, problem=problem) for host in hosts}
    return replace(state, health={**state.health, **health}), replace(SPEC, hosts=hosts)


def test_ranks_on_a_node_that_cannot_be_seen_may_be_at_work_and_the_node_is_named() -> None:
    state, spec = unseen(two_of_four(None), "n2", problem="n2: no route to host")
    said = diagnose(state, spec, NOW)
    assert (said.word, said.confidence) == ("stalled", "possible")
    assert said.headline == "Ranks 2-3 wait in all_reduce for ranks 0-1; node n2 cannot be seen."
    assert [(culprit.rank, culprit.pid, culprit.host) for culprit in said.culprits] == [(None, None, "n2")]
    assert "n2: no route to host" in [fact.text for fact in said.evidence]
    assert diagnose(state, replace(spec, stall_s=1.0), NOW).word == "hung", "beyond all reason"


def test_a_node_that_is_seen_and_has_none_of_them_explains_nothing() -> None:
    state, spec = unseen(two_of_four(None), "n2", problem=None)
    said = diagnose(state, spec, NOW)
    assert said.headline.startswith("All 2 ranks here wait in all_reduce; ranks 0-1 run elsewhere")
    assert said.culprits == ()
