"""Ranks that wait for the handle of a collective: no frame tells it, the line does, while peers stand in another collective."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.stack import Excerpt, Frame, Thread
from hangtop.records.verdict import Verdict
from tests.fakes.members import ALL_REDUCE, NOW, SPEC, THREADING, USER, four, process, run, thread

AT = thread(Frame("average", USER, 63))
CONDITION = thread(Frame("wait", THREADING, 320), Frame("average", USER, 63))


def said(line: str, shown: Thread = AT, **more: object) -> Verdict:
    """Three stand at this line; rank 2 is in a collective."""
    state = four(ALL_REDUCE, peers=shown)
    source = Excerpt(USER, 62, ("for work in works:", line), at=63)
    looks = tuple(replace(look, excerpts=(replace(source, **more),)) for look in state.looks)
    return diagnose(replace(state, looks=looks), SPEC, NOW)


@pytest.mark.parametrize("line", ["    work.wait()", "[each.wait() for each in works]"])
def test_most_wait_for_a_handle_and_the_one_in_another_collective_went_another_way(line: str) -> None:
    verdict = said(line)
    assert (verdict.word, verdict.kind) == ("hung", "desync")
    assert [culprit.rank for culprit in verdict.culprits] == [2]


@pytest.mark.parametrize(
    "verdict",
    [
        pytest.param(said("    lock.acquire()"), id="a lock of their own"),
        pytest.param(said("    os.wait()"), id="their children"),
        pytest.param(said("    event.wait()", CONDITION), id="an event of Python"),
        pytest.param(said("    work.wait()", changed=True), id="the source is newer"),
    ],
)
def test_what_else_they_may_wait_for_is_no_collective(verdict: Verdict) -> None:
    assert (verdict.word, verdict.kind == "desync") == ("hung", False)


def test_without_a_collective_nobody_is_said_to_wait_for_one() -> None:
    state = run({0: AT}, (process(0),))
    source = Excerpt(USER, 62, ("for work in works:", "    work.wait()"), at=63)
    looks = tuple(replace(look, excerpts=(source,)) for look in state.looks)
    assert "waits for a lock" in diagnose(replace(state, looks=looks), SPEC, NOW).headline
