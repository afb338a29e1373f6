"""The scan finds every literal, in small blocks and in large ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hangtop.logs.catalog.load import load
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.lines.literal_scan import Scanner
from hangtop.logs.lines.split import OVERLAP

WORDS = ["CUDA", "CUDA error", "UDA er", "error: nan", "nan", "步"]


def naive(words: list[str], data: bytes) -> set[tuple[int, int, int]]:
    found = set()
    for number, word in enumerate(words):
        start = data.find(word.encode())
        while start >= 0:
            found.add((number, start, start + len(word.encode())))
            start = data.find(word.encode(), start + 1)
    return found


@given(st.lists(st.sampled_from([*WORDS, " ", "x", "\n"]), max_size=30))
def test_the_scan_finds_what_a_naive_search_finds(pieces: list[str]) -> None:
    data = "".join(pieces).encode()
    scanner = Scanner(WORDS)
    assert set(scanner.hits(data)) == set(scanner.without(frozenset())(data)) == naive(WORDS, data)


def test_literals_that_have_had_their_say_are_left_out_under_the_same_numbers() -> None:
    scanner = Scanner(WORDS)
    data = b"CUDA error: nan"
    find = scanner.without(frozenset({0, 4}))
    assert set(find(data)) == {hit for hit in scanner.hits(data) if hit[0] not in (0, 4)}


def test_no_literal_is_longer_than_a_cut_can_bear() -> None:
    assert max(map(len, LiteralIndex(load()).scanner.literals)) <= OVERLAP
