"""Where the panes stand, and which columns fit into them."""

from __future__ import annotations

import pytest

from hangtop.render.columns import Column, fitting
from hangtop.tui.widgets import layout as places
from hangtop.tui.widgets.layout import PaneNeed, arrange

WANTS = {"ranks": PaneNeed(10), "gpus": PaneNeed(1), "procs": PaneNeed(1), "ray": PaneNeed(1)}


class TestArrange:
    @pytest.mark.parametrize("width", [60, 80, 99, 100, 120, 200])
    @pytest.mark.parametrize("height", [15, 24, 30, 40, 60])
    @pytest.mark.parametrize("maximised", [False, True])
    @pytest.mark.parametrize("active", ["ranks", "log", "ray"])
    def test_nothing_overlaps_nor_leaves_the_screen(self, width, height, maximised, active):
        rects = arrange(width, height, 6, WANTS, active=active, maximised=maximised)
        taken: set[tuple[int, int]] = set()
        for rect in rects.values():
            cells = {(x, y) for x in range(rect.x, rect.x + rect.width) for y in range(rect.y, rect.y + rect.height)}
            assert not cells & taken
            assert all(0 <= x < width and 0 <= y < height for x, y in cells)
            taken |= cells
        assert rects["footer"].y == height - 1

    def test_two_full_panes_stand_side_by_side_on_the_same_lines(self):
        rects = arrange(120, 40, 2, {**WANTS, "gpus": PaneNeed(10)}, active="ranks", maximised=False)
        assert rects["ranks"].y == rects["gpus"].y
        assert rects["gpus"].width == places.RIGHT_WIDTH

    def test_the_log_gives_way_to_the_verdict_not_the_ranks(self):
        calm = arrange(120, 40, 2, WANTS, active="ranks", maximised=False)
        trouble = arrange(120, 40, 6, WANTS, active="ranks", maximised=False)
        assert trouble["log"].height == calm["log"].height - 4
        assert trouble["ranks"].height == calm["ranks"].height

    def test_a_small_terminal_has_tabs_and_the_tail_of_the_log(self):
        rects = arrange(80, 24, 5, WANTS, active="ranks", maximised=False)
        assert {"tabs", "ranks", "log"} <= set(rects)
        assert "gpus" not in rects


def test_columns_go_in_their_order():
    columns = [Column(str(goes), 10, goes, lambda record: ()) for goes in (0, 3, 1, 2)]
    shown = [[int(c.title) for c in fitting(columns, width)] for width in (50, 46, 34, 22, 3)]
    assert shown == [[0, 3, 1, 2], [0, 3, 1, 2], [0, 3, 2], [0, 3], [0]]
