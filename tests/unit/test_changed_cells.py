"""Of a row only the stretches that changed are written; what stands between two of them, where that is cheaper than a move."""

from __future__ import annotations

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from hangtop.tui.widgets.row_widget import GAP_CELLS, _changed

BAR, VALUE = Style(color="cyan"), Style(color="white")


def row(*texts: tuple[str, Style]) -> Strip:
    return Strip([Segment(text, style) for text, style in texts])


@pytest.mark.parametrize(("gap", "stretches"), [(GAP_CELLS - 1, [(0, 9)]), (GAP_CELLS, [(0, 1), (9, 10)])])
def test_a_short_gap_of_one_style_is_written_too(gap: int, stretches: list[tuple[int, int]]) -> None:
    same = "." * gap
    assert _changed(row((f"1{same}1", VALUE)), row((f"2{same}2", VALUE))) == stretches


def test_a_gap_of_another_style_is_left_as_it_is() -> None:
    assert _changed(row(("━", BAR), ("  97%", VALUE)), row(("╸", BAR), ("  91%", VALUE))) == [(0, 1), (4, 5)]


def test_what_changed_side_by_side_is_one_stretch_whatever_its_styles() -> None:
    assert _changed(row(("━", BAR), ("97%", VALUE)), row(("╸", BAR), ("81%", VALUE))) == [(0, 3)]
