"""Long lines of bars, folded before they are searched: what is found stands where it is said to stand."""

from __future__ import annotations

import pytest

from hangtop.logs.lines import literal_scan
from hangtop.logs.lines.literal_scan import HEAD, LONG, TAIL, Scanner, find_folded

SCANNER = Scanner(["%|", "it/s]", "CUDA error", "step "])
PIECES = [
    f"\rEpoch 1: {percent:3d}%|###   | {percent}/100 [00:{percent % 60:02d}<01:00, 2.50it/s]".encode() for percent in range(100)
]
BARS = b"".join(PIECES)


@pytest.mark.parametrize("window", [literal_scan.WINDOW, 10])
@pytest.mark.parametrize(
    "data",
    [
        BARS + b"CUDA error: glued to the last piece\nstep 1\n",
        b"step 1\n" + BARS + b"\nstep 2\n" + BARS + b"\nCUDA error\n",
        b"CUDA error\n" + BARS,
        b"step 1\nCUDA error\n" * 9,
        b"",
    ],
)
def test_all_that_stands_outside_of_a_fold_is_found_where_it_stands(
    data: bytes, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(literal_scan, "WINDOW", window)
    every, found = SCANNER.hits(data), find_folded(data, SCANNER.hits)
    assert set(found) <= set(every)
    assert found == sorted(found, key=lambda hit: hit[2])
    assert [hit for hit in found if hit[0] > 1] == [hit for hit in every if hit[0] > 1]


def test_of_a_long_line_of_bars_the_first_pieces_and_the_last_ones_are_searched() -> None:
    assert len(BARS) > LONG
    places = {start for number, start, _ in find_folded(BARS + b"\n", SCANNER.hits) if number == 0}
    every = [start for number, start, _ in SCANNER.hits(BARS) if number == 0]
    assert {start for start in every if start < HEAD or start >= len(BARS) - TAIL} <= places
    assert len(places) < 8
