"""Looks at the stacks come in parts, travel over the wire, and only the last few are kept."""

from __future__ import annotations

from hangtop.records import wire
from hangtop.records.reading import Reading
from hangtop.records.stack import LOOKS_KEPT, Excerpt, Frame, Stack, StacksReading, Thread, add_look
from hangtop.state.run_state import RunState, fold

PARTS = (
    StacksReading(7, asked=(10, 11, 12), stacks=(Stack(12, 1.0, problem="the process is gone"),), started_at=1.0),
    StacksReading(7, stacks=(Stack(10, 1.1, (Thread("MainThread", (Frame("f", "a.py", 3, (("x", "1"),)),), 10),)),)),
    StacksReading(7, stacks=(Stack(11, 1.2, started_ticks=9, signal_dump=True),)),
    StacksReading(7, done=True, took_s=0.2),
    StacksReading(7, excerpts=(Excerpt("a.py", 1, ("x", "y", "z")),)),
)


def folded(*parts: StacksReading) -> RunState:
    state = RunState()
    for part in parts:
        line = wire.encode(Reading("stacks", "n1", 5.0, part))
        state = fold(state, wire.decode_reading(line))
    return state


def test_the_parts_of_one_answer_add_up_over_the_wire() -> None:
    (look,) = folded(*PARTS).looks
    assert look == StacksReading(
        7,
        asked=(10, 11, 12),
        stacks=(*PARTS[0].stacks, *PARTS[1].stacks, *PARTS[2].stacks),
        excerpts=PARTS[4].excerpts,
        started_at=1.0,
        took_s=0.2,
        done=True,
    )


def test_another_question_is_another_look_and_few_are_kept() -> None:
    looks: tuple[StacksReading, ...] = ()
    for ask in range(LOOKS_KEPT + 3):
        looks = add_look(looks, StacksReading(ask))
        looks = add_look(looks, StacksReading(ask, done=True))
    assert [look.ask for look in looks] == list(range(3, LOOKS_KEPT + 3))
    assert all(look.done for look in looks)


def test_a_look_is_not_done_before_its_last_stack() -> None:
    assert not folded(*PARTS[:3]).looks[-1].done
    assert folded(*PARTS[:4]).looks[-1].done


def test_the_main_thread_is_told_by_its_id_then_by_its_name() -> None:
    first, second = Thread("worker", (), 10), Thread("MainThread", (), 11)
    assert Stack(10, 0.0, (second, first)).main is first
    assert Stack(99, 0.0, (first, second)).main is second
    assert Stack(99, 0.0, (first,)).main is None
