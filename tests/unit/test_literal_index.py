"""One scan for all literals of a catalog, in two sizes: both find the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hangtop.logs.catalog.load import load
from hangtop.logs.extract.literal_index import MOST_FINDERS, MUCH, LiteralIndex
from hangtop.logs.lines.literal_scan import Hit
from tests.fakes.genlog import generate

DATA = b"".join(generate(2 * MUCH, seed=9, nasty=True))


@pytest.fixture(scope="module")
def index() -> LiteralIndex:
    return LiteralIndex(load())


def at_rest(index: LiteralIndex) -> None:
    """With no fast scan held, whatever tests before have used."""
    index.rest()
    index.rest()


def test_a_large_block_is_searched_as_a_small_one_is(index: LiteralIndex) -> None:
    left_out = frozenset(list(index.only_detects)[:5])
    at_rest(index)
    small = index.finder(left_out, 0)(DATA)
    assert index.finder(left_out, len(DATA))(DATA) == small
    assert index.finder(left_out, 0)(DATA) == small


def test_only_a_few_large_scans_are_held_and_only_while_they_are_used(
    index: LiteralIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[frozenset[int]] = []
    without = index.scanner.without

    def counting(numbers: frozenset[int]) -> Callable[[bytes], list[Hit]]:
        made.append(numbers)
        return without(numbers)

    monkeypatch.setattr(index.scanner, "without", counting)
    at_rest(index)
    wanted = [frozenset({number}) for number in range(MOST_FINDERS + 1)]
    for left_out in (*wanted, *wanted[1:]):
        index.finder(left_out, MUCH)
    assert made == wanted
    assert not index.rest()
    index.finder(wanted[-1], MUCH)
    assert made == wanted
    assert index.rest()
    index.finder(wanted[-1], MUCH)
    assert made == wanted
    assert [index.rest(), index.rest()] == [False, True]
    index.finder(wanted[-1], MUCH)
    assert made == [*wanted, wanted[-1]]
