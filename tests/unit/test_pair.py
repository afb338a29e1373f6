"""Two ranks side by side: what differs, where the stacks part, the logs on one clock."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.records.log import LogLine
from hangtop.records.stack import Frame, Stack, Thread
from hangtop.render.pair.pair import most_apart, pair_of
from hangtop.render.pair.pair_facts import pair_facts
from hangtop.render.pair.pair_logs import log_rows
from hangtop.render.pair.pair_rows import pair_rows
from hangtop.render.spans import width_of
from hangtop.stacks.activity import activity_of
from hangtop.stacks.stack_classes import parting_of
from tests.fakes.views import plain, view_of

HUNG = view_of("fleet_hung")


def stack_of(*calls: tuple[str, str, int]) -> Stack:
    """Innermost call first."""
    frames = tuple(Frame(function, file, line) for function, file, line in calls)
    return Stack(pid=1, at=0.0, threads=(Thread(name="MainThread", frames=frames),))


def test_what_differs_from_the_median_of_the_peers_comes_first() -> None:
    pair = pair_of(HUNG, 3, None)
    facts = pair_facts(HUNG, pair)
    odd = {fact.label: (fact.left, fact.right) for fact in facts if fact.differs}
    assert odd["step"] == ("118", "120")
    assert odd["GPU util"] == ("0 %", "100 %")
    assert odd["doing"] == ("_wait_for_shard", "all_reduce")
    assert [fact.differs for fact in facts] == sorted((fact.differs for fact in facts), reverse=True)


def test_the_first_frame_in_which_stacks_part_is_marked_once() -> None:
    rows = [plain(row) for row in pair_rows(HUNG, 3, None, 120)]
    marked = [row for row in rows if "they part" in row]
    assert len(marked) == 1
    assert "train_step" in marked[0]
    assert "fleet.py:12" in marked[0]
    assert "fleet.py:22" in marked[0]


def test_ranks_in_one_place_are_said_to_be_alike() -> None:
    assert "the same in every frame" in "\n".join(plain(row) for row in pair_rows(HUNG, 1, 2, 120))


@pytest.mark.parametrize(
    ("first", "second", "parts_at"),
    [
        ([("f", "/me/a.py", 3), ("main", "/me/a.py", 9)], [("f", "/me/a.py", 3), ("main", "/me/a.py", 9)], None),
        ([("f", "/me/a.py", 3), ("main", "/me/a.py", 9)], [("f", "/me/a.py", 4), ("main", "/me/a.py", 9)], 1),
        ([("g", "/me/a.py", 5), ("main", "/me/a.py", 8)], [("f", "/me/a.py", 4), ("main", "/me/a.py", 9)], 0),
        ([("main", "/me/a.py", 9)], [("f", "/me/a.py", 4), ("main", "/me/a.py", 9)], 1),
    ],
)
def test_where_two_stacks_part(first, second, parts_at) -> None:
    known = [activity_of(stack_of(*calls)) for calls in (first, second)]
    assert parting_of(*known) == parts_at


def test_lines_of_one_second_stand_side_by_side() -> None:
    def said(rank: int, offset: int, at: float | None, words: str) -> LogLine:
        return LogLine(0, offset, at, rank, "", words)

    tail = (said(3, 0, 100.2, "one"), said(5, 1, 100.9, "two"), said(5, 2, None, "goes on"), said(3, 3, 103.0, "three"))
    view = replace(HUNG, state=replace(HUNG.state, tail=tail))
    rows = [plain(row).split() for row in log_rows(view, pair_of(view, 3, 5), 100)][1:]
    assert [row[-2:] for row in rows] == [["one", "two"], ["goes", "on"], [rows[2][0], "three"]]
    assert [len(row) for row in rows] == [3, 2, 2]  # a time stands once for each second


def test_the_rank_to_look_at_first_is_the_one_that_waits_for_nobody() -> None:
    assert most_apart(HUNG) == 3
    assert most_apart(replace(HUNG, verdict=None)) == 3
    assert most_apart(view_of("healthy")) == 0


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_row_is_wider_than_the_screen(width: int) -> None:
    for name in ("fleet_hung", "healthy", "startup", "crashed"):
        view = view_of(name)
        assert all(width_of(row) <= width for row in pair_rows(view, 0, None, width))
    assert plain(pair_rows(HUNG, 99, None, width)[0]) == "Nothing is known of rank 99 any more."
