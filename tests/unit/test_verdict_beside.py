"""Who is named where a process that is no rank takes part, and where all stand still: by what each waits in, never by a name."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.stack import Excerpt, Frame, StacksReading, Thread
from hangtop.records.verdict import Verdict
from hangtop.state.run_state import RunState
from tests.fakes.members import BUSY, CONNECTION, IDLE, NOW, SPEC, SPIN, USER, four, process, run
from tests.fakes.waited import at_pipe, waits, watch, watched
from tests.unit.test_verdict_unnumbered import JOINS, PARENT, family, nameless, started

FED = started(Frame("recv", CONNECTION, 250), main="worker", wait="pipe")
SERVER = 3
PLACES = (("/home/me/actor.py", 31), (USER, 34))


def serves(*frames: Frame, wait: str = "lock") -> Thread:
    return started(*frames, main="server", wait=wait)


def said(server: Thread, above: Thread = JOINS, **threads: Thread) -> Verdict:
    """Three workers that wait for what they are fed, and a server that is no rank."""
    return diagnose(served(server, above, **threads), SPEC, NOW)


def served(server: Thread, above: Thread = JOINS, **threads: Thread) -> RunState:
    workers = {number: threads.get(f"worker{number}", FED) for number in range(3)}
    return family({**workers, SERVER: server, PARENT: above}, ranks=3)


def culprits(verdict: Verdict) -> list[int | None]:
    return [culprit.pid for culprit in verdict.culprits]


def test_a_server_that_waits_for_a_lock_of_its_own_is_what_its_workers_wait_for() -> None:
    verdict = said(serves())
    assert (verdict.word, culprits(verdict)) == ("hung", [100 + SERVER])
    assert "3 ranks wait for it" in verdict.headline


def test_a_server_that_is_fed_itself_is_not_named_and_nobody_is() -> None:
    assert culprits(said(serves(Frame("recv", CONNECTION, 250), wait="pipe"))) == []


def test_the_worker_that_stands_for_its_own_sake_is_named_beside_a_server_that_waits_for_it() -> None:
    stuck = started(Frame("load", USER, 61), main="worker")
    assert culprits(said(serves(Frame("recv", CONNECTION, 250), wait="pipe"), worker1=stuck)) == [101]


def test_a_parent_in_its_own_code_is_named_where_all_its_children_are_fed() -> None:
    drives = Thread("MainThread", (Frame("drive", USER, 70), Frame("<module>", USER, 99)), state="S", wait="lock")
    assert culprits(said(FED, above=drives)) == [100 + PARENT]


@pytest.mark.parametrize(
    ("loop", "named"), [("rounds", False), (None, False), ("asks", True), ("waits", True), ("ends", True), ("none", True)]
)
def test_who_sleeps_in_a_while_may_only_look_after_others_unless_it_looks_for_something(loop: str | None, named: bool) -> None:
    state = served(serves(wait="sleep"))
    lines = Excerpt(USER, 85, ("time.sleep(60)",), at=90, loop=loop)  # type: ignore[arg-type]
    look = StacksReading(0, started_at=NOW - 1, done=True, stacks=state.looks[-1].stacks, excerpts=(lines,))
    verdict = diagnose(replace(state, looks=(*state.looks, look)), SPEC, NOW)
    assert culprits(verdict) == ([100 + SERVER] if named else [])


def test_of_two_for_which_nobody_is_at_the_other_end_the_one_that_stands_is_named_and_not_the_one_that_rests() -> None:
    """A shell's pipe: the first makes lines and rests between, the second stands in a lock, and the third reads from that."""
    rests, stands, reads = (
        Thread("MainThread", (Frame("<module>", f"/home/me/{name}.py", 4),), state="S", wait=wait)  # type: ignore[arg-type]
        for name, wait in (("make", "sleep"), ("filter", "lock"), ("train", "pipe"))
    )
    often = replace(IDLE, switches_s=20.0)
    stages = (
        nameless(0, often, command="python make.py"),
        nameless(1, command="python filter.py"),
        nameless(2, command="python t.py"),
    )
    state = replace(run({0: rests, 1: stands, 2: reads}, stages), ranks={})
    ends = (watched(102, waits(102, at_pipe(101), kind="read")), watched(101, waits(101, kind="futex")))
    assert culprits(diagnose(replace(state, waits=watch(*ends, at=NOW - 10)), SPEC, NOW)) == [101]


def test_where_all_look_for_something_the_one_that_looks_elsewhere_is_named() -> None:
    """Actors wait for weights, and the learner that started them waits for receipts; all of it are files."""
    actors = {
        number: Thread("MainThread", (Frame("play", "/home/me/actor.py", 31),), state="S", wait="sleep") for number in range(3)
    }
    learner = Thread("MainThread", (Frame("<module>", USER, 34),), state="S", wait="sleep")
    often = replace(IDLE, switches_s=3.0)
    processes = (nameless(PARENT, often, ppid=1), *(nameless(number, often) for number in actors))
    lines = tuple(Excerpt(file, line, ("while not all_are_here():",), at=line, loop="asks") for file, line in PLACES)
    state = run({**actors, PARENT: learner}, processes)
    looks = tuple(replace(look, excerpts=lines) for look in state.looks)
    verdict = diagnose(replace(state, ranks={}, looks=looks), SPEC, NOW)
    assert (verdict.word, culprits(verdict)) == ("hung", [100 + PARENT])
    rounds = tuple(replace(each, loop="rounds" if each.file == USER else "asks") for each in lines)
    looks = tuple(replace(look, excerpts=rounds) for look in state.looks)
    assert culprits(diagnose(replace(state, ranks={}, looks=looks), SPEC, NOW)) == [], "it may look after the actors alone"


def test_a_server_at_work_keeps_its_workers_alive() -> None:
    state = served(Thread("MainThread", (Frame("update", USER, 70), *FED.frames[1:]), state="R"))
    assert state.procs is not None
    busy = nameless(SERVER, BUSY, state="R", cpu_percent=98.0, subtree_cpu_percent=98.0)
    others = tuple(each for each in state.procs.processes if each.pid != busy.pid)
    verdict = diagnose(replace(state, procs=replace(state.procs, processes=(*others, busy))), SPEC, NOW)
    assert verdict.word == "slow"


def test_a_server_whose_own_helper_computes_keeps_its_workers_alive() -> None:
    state = served(serves(Frame("readline", CONNECTION, 250), wait="pipe"))
    assert state.procs is not None
    server = nameless(SERVER, replace(BUSY, cpu_percent=0.0), subtree_cpu_percent=98.0, subtree_size=2)
    helper = nameless(9, BUSY, ppid=server.pid, command="python grader.py", state="R", cpu_percent=98.0)
    others = tuple(each for each in state.procs.processes if each.pid != server.pid)
    verdict = diagnose(replace(state, procs=replace(state.procs, processes=(*others, server, helper))), SPEC, NOW)
    assert (verdict.word, culprits(verdict)) == ("slow", [])
    assert f"Process {server.pid} is at work" in verdict.headline


def test_who_may_loop_while_its_peers_wait_is_possible_also_while_it_is_called_slow() -> None:
    verdict = diagnose(four(SPIN, process(2, BUSY, "R"), silence_s=130.0), SPEC, NOW)
    assert (verdict.word, [(culprit.rank, culprit.confidence) for culprit in verdict.culprits]) == ("slow", [(2, "possible")])


def test_work_that_has_a_name_is_never_accused() -> None:
    verdict = diagnose(
        four(Thread("MainThread", (Frame("save_checkpoint", USER, 80),), state="R"), process(2, BUSY, "R")), SPEC, NOW
    )
    assert (verdict.word, verdict.culprits) == ("slow", ())


@pytest.mark.parametrize(("world", "named"), [(1, [0]), (4, [])])
def test_a_rank_that_waits_for_a_byte_is_not_named_where_its_peers_run_elsewhere(world: int, named: list[int]) -> None:
    receives = Thread("MainThread", (Frame("receive", USER, 30), Frame("train", USER, 90)), state="S", wait="socket")
    verdict = diagnose(run({0: receives}, (process(0, world=world),)), SPEC, NOW)
    assert (verdict.word, [culprit.rank for culprit in verdict.culprits]) == ("hung", named)
