"""Choosing stacks by words, as they are typed on the stacks page."""

from __future__ import annotations

import pytest

from hangtop.records.stack import Frame, Stack, StacksReading, Thread, add_look
from hangtop.render.stack_choice import StackChoice, choice


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [
        ("", StackChoice()),
        ("3", StackChoice(frozenset({3}))),
        ("0-2,5 7", StackChoice(frozenset({0, 1, 2, 5, 7}))),
        ("load_shard", StackChoice(function="load_shard")),
        ("thread:loader 1 read", StackChoice(frozenset({1}), "loader", "read")),
        ("5-3", StackChoice()),
        ("thread:", StackChoice(function="thread:")),
    ],
)
def test_words_choose_ranks_threads_and_functions(typed: str, chosen: StackChoice) -> None:
    assert choice(typed) == chosen


def test_a_huge_range_is_no_huge_set() -> None:
    assert len(choice("0-99999999999").ranks or ()) < 200_000


def test_a_choice_keeps_the_stacks_it_names() -> None:
    threads = (Thread("MainThread", (Frame("load_shard", "a.py", 1),)), Thread("loader", (Frame("read", "a.py", 2),)))
    stacks = tuple(Stack(10 + rank, 0.0, threads, rank=rank) for rank in range(4))
    assert [stack.rank for stack in choice("1-2").of(stacks)] == [1, 2]
    assert [thread.name for thread in choice("3 thread:load").of(stacks)[0].threads] == ["loader"]
    assert choice("nowhere").of(stacks) == ()


def test_parts_of_two_looks_that_come_in_turns_stay_two_looks() -> None:
    looks: tuple[StacksReading, ...] = ()
    for ask, pid in ((1, 10), (2, 10), (1, 11), (2, 11)):
        looks = add_look(looks, StacksReading(ask, stacks=(Stack(pid, 0.0),)))
    assert [(look.ask, [stack.pid for stack in look.stacks]) for look in looks] == [(1, [10, 11]), (2, [10, 11])]
