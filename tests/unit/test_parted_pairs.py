"""Ranks that all send to one rank or receive from one: which of them left a message out?"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.stack import Excerpt, Frame, Thread
from tests.fakes.members import C10D, NOW, SPEC, USER, process, run, thread

FORTH, BACK = 36, 50
"""Where the loop over the activations begins, and the one over the gradients."""


def waits(call: str, loop: int) -> Thread:
    """In a line of that loop, of a script without functions."""
    return thread(Frame(call, C10D, 2_200), Frame("<module>", USER, loop + 6))


@pytest.mark.parametrize(
    ("ranks", "culprits"),
    [
        ([waits("send", FORTH), waits("recv", BACK), waits("recv", FORTH)], [1]),
        ([waits("recv", BACK), waits("recv", BACK), waits("recv", FORTH)], [2]),
        ([waits("recv", BACK), waits("send", FORTH), waits("send", BACK)], [1, 2]),
        ([waits("recv", FORTH), waits("recv", BACK)], [0, 1]),
        ([waits("send", FORTH), waits("recv", FORTH), waits("recv", FORTH)], []),
    ],
    ids=["the middle stage", "the last stage", "two that send", "a pair", "all at one part"],
)
def test_the_one_that_went_on_without_a_message_is_told_by_the_loop_it_is_in(ranks: list[Thread], culprits: list[int]) -> None:
    state = run(dict(enumerate(ranks)), tuple(process(rank, world=len(ranks)) for rank in range(len(ranks))))
    sources = tuple(Excerpt(USER, line, ("",), at=line + 6, loop="ends", loop_line=line) for line in (FORTH, BACK))
    state = replace(state, looks=tuple(replace(look, excerpts=sources) for look in state.looks))
    said = diagnose(state, SPEC, NOW)
    assert (said.word, [culprit.rank for culprit in said.culprits]) == ("hung", culprits)
    assert all(culprit.confidence == "possible" for culprit in said.culprits)
