"""The scan finds every literal, with the fast library and without it."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from hangtop.logs.catalog.load import load
from hangtop.logs.digest import Digest
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.lines import literal_scan
from hangtop.logs.lines.literal_scan import Scanner
from hangtop.logs.lines.split import OVERLAP
from tests.fakes.genlog import generate

WORDS = ["CUDA", "CUDA error", "UDA er", "error: nan", "nan", "步"]


def plain(words: list[str]) -> Scanner:
    with patch.object(literal_scan, "ahocorasick_rs", None):
        return Scanner({word: (word,) for word in words})


def naive(words: list[str], data: bytes) -> set[tuple[int, int, int]]:
    found = set()
    for number, word in enumerate(words):
        start = data.find(word.encode())
        while start >= 0:
            found.add((number, start, start + len(word.encode())))
            start = data.find(word.encode(), start + 1)
    return found


@given(st.lists(st.sampled_from([*WORDS, " ", "x", "\n"]), max_size=30))
def test_both_ways_find_what_a_naive_search_finds(pieces: list[str]) -> None:
    data = "".join(pieces).encode()
    fast = Scanner({word: (word,) for word in WORDS})
    assert set(fast.hits(data)) == set(plain(WORDS).hits(data)) == naive(WORDS, data)


def test_the_slow_way_reads_the_same() -> None:
    catalog = load()
    data = b"".join(generate(300_000, seed=5, nasty=True))
    fast = Digest(LiteralIndex(catalog), 0)
    with patch.object(literal_scan, "ahocorasick_rs", None):
        slow = Digest(LiteralIndex(catalog), 0)
        slow.feed(data)
        slow_facts = slow.facts()
    fast.feed(data)
    assert repr(slow_facts) == repr(fast.facts())


def test_literals_that_have_had_their_say_are_left_out_under_the_same_numbers() -> None:
    scanner = Scanner({word: (word,) for word in WORDS})
    data = b"CUDA error: nan"
    find = scanner.without(frozenset({0, 4}))
    assert set(find(data)) == {hit for hit in scanner.hits(data) if hit[0] not in (0, 4)}


def test_no_literal_is_longer_than_a_cut_can_bear() -> None:
    assert max(map(len, LiteralIndex(load()).scanner.literals)) <= OVERLAP
