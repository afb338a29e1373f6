"""A read that hangs costs its own answer, once, and nothing else."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator

import pytest

from hangtop.system.guard import Guard
from tests.fakes.processes import eventually


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_the_others_are_answered_when_one_hangs(release: threading.Event) -> None:
    guard: Guard[str, object] = Guard(patience_s=0.5)
    answers = guard.ask({"a": lambda: 1, "stuck": release.wait, "b": lambda: 2})
    assert answers == {"a": 1, "b": 2}
    assert guard.stuck == {"stuck"}


def test_what_hangs_is_not_asked_again_until_it_answers(release: threading.Event) -> None:
    asked = []

    def hang() -> object:
        asked.append(1)
        return release.wait()

    guard: Guard[str, object] = Guard(patience_s=0.5)
    for _ in range(3):
        assert guard.ask({"stuck": hang, "b": lambda: 2}) == {"b": 2}
    assert asked == [1]
    release.set()
    eventually(lambda: not guard.stuck)
    assert guard.ask({"stuck": hang}) == {"stuck": True}


def test_an_error_of_the_system_is_an_answer() -> None:
    def refuse() -> int:
        raise PermissionError("no")

    guard: Guard[str, int] = Guard(patience_s=30.0)
    assert isinstance(guard.ask({"a": refuse})["a"], PermissionError)


def test_when_too_many_hang_nobody_else_is_sent(release: threading.Event) -> None:
    guard: Guard[int, object] = Guard(patience_s=0.2, max_stuck=3)
    assert guard.ask(dict.fromkeys(range(10), release.wait)) == {}
    assert len(guard.stuck) == 3
    assert guard.ask({99: lambda: 1}) == {}


def test_a_thousand_questions_are_answered_in_one_go() -> None:
    guard: Guard[int, int] = Guard(patience_s=30.0)
    assert guard.ask({number: lambda number=number: number * 2 for number in range(1000)}) == {n: n * 2 for n in range(1000)}


def test_what_was_answered_is_held_by_who_asked_alone() -> None:
    """A look at all processes is a megabyte, and each idle thread kept the last one that it had worked on."""

    class Told:
        pass

    answers = Guard[int, Told]().known({1: Told})
    told = weakref.ref(answers.pop(1))
    eventually(lambda: told() is None)
