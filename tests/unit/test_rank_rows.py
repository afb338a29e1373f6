"""The ranks pane: the table of few ranks, the heat grid of many."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.records.rank import Rank
from hangtop.render.heat_grid import blocks_of, grid_rows, odd_rows
from hangtop.render.rank_rows import rank_rows, summary, table_rows
from hangtop.render.spans import width_of
from hangtop.state.run_state import RunState
from tests.fakes.views import plain, roles, view_of


class TestRanks:
    def test_the_odd_one_comes_first_and_alone_is_red(self):
        rows = rank_rows(view_of("stalled"))
        assert [row.rank.rank for row in rows] == [3, 0, 1, 2, 4, 5, 6, 7]
        assert [row.role for row in rows] == ["bad"] + [""] * 7
        table = table_rows(rows, 118)
        assert plain(table[1]).startswith("▸    3 133953")
        assert "118  −2  ━━━━━ " in plain(table[1])
        assert not any("bad" in role for row in table[2:] for _, role in row)

    def test_only_columns_that_tell_ranks_apart(self):
        titles = plain(table_rows(rank_rows(view_of("healthy")), 118)[0]).split()
        assert titles == ["rank", "pid", "step", "lag", "quiet", "cpu", "s", "doing"]

    def test_what_goes_when_narrow_and_what_never_does(self):
        rows = rank_rows(view_of("stalled"))
        narrow = plain(table_rows(rows, 36)[0]).split()
        assert "pid" not in narrow
        assert {"rank", "step", "lag", "quiet"} <= set(narrow)
        for width in range(40, 140):
            assert all(width_of(row) <= width for row in table_rows(rows, width))

    def test_only_those_that_do_not_stand_out_wait(self):
        view = view_of("stalled")
        ranks = {rank: replace(log, step=120) for rank, log in view.state.ranks.items()}
        level = replace(view, state=replace(view.state, ranks=ranks))
        assert plain(summary(level, rank_rows(level))).startswith("1 odd · 7 wait in step 120")

    def test_ages_stand_still_for_seconds(self):
        assert table_rows(rank_rows(view_of("healthy")), 118)[1] == table_rows(rank_rows(view_of("healthy", 1.5)), 118)[1]

    def test_the_head_says_what_they_do_together(self):
        view = view_of("stalled")
        assert plain(summary(view, rank_rows(view))) == "1 behind · 7 wait in step 120 · all on n1"
        view = view_of("startup")
        assert plain(summary(view, rank_rows(view))) == "8 of 8 seen · no step yet · all on n1 · all in rollout"

    def test_a_step_that_is_not_there_is_a_dash_never_a_zero(self):
        row = table_rows(rank_rows(view_of("startup")), 118)[1]
        assert " – " in plain(row)

    @pytest.mark.parametrize("loss", [float("nan"), None])
    def test_a_loss_that_is_no_number_shows(self, loss):
        view = view_of("healthy")
        ranks = {**view.state.ranks, 2: replace(view.state.ranks[2], metrics={"loss": loss})}
        table = table_rows(rank_rows(replace(view, state=replace(view.state, ranks=ranks))), 118)
        assert roles(table[3], "NaN") == "bad bold"


class TestHeat:
    def test_every_rank_has_one_cell_and_only_the_odd_ones_stand_out(self):
        view = view_of("many")
        blocks = blocks_of(rank_rows(view), 256)
        cells = [cell for block in blocks for cell in block.cells]
        assert len(cells) == 256
        assert cells.count(("◆", "bad")) == 2
        assert cells.count(("□", "stale")) == 8
        assert [block.label for block in blocks if block.odd] == ["n19"]

    def test_the_chosen_rank_is_marked_and_stands_beside_the_odd_ones(self):
        rows = rank_rows(view_of("many"), chosen=100)
        cells = [cell for block in blocks_of(rows, 256) for cell in block.cells]
        assert cells[100] == ("■", "accent bold reverse")
        assert [plain(row).split()[-1] for row in odd_rows(rows, 80, 9)[1:]].count("?") == 0
        assert "100" in plain(odd_rows(rows, 80, 9)[-1])

    @pytest.mark.parametrize(("width", "lines"), [(118, 14), (98, 14), (78, 12), (58, 6), (40, 3)])
    def test_it_fits_wherever_it_must(self, width, lines):
        rows = grid_rows(blocks_of(rank_rows(view_of("many")), 256), width, lines)
        assert len(rows) <= lines
        assert all(width_of(row) <= width for row in rows)

    def test_a_thousand_ranks_on_128_nodes(self):
        view = view_of("many")
        rank_log = view.state.ranks[0]
        ranks = {rank: replace(rank_log, rank=rank, host=f"node-{rank // 8:03d}") for rank in range(1024)}
        rows = grid_rows(blocks_of(rank_rows(replace(view, state=replace(view.state, ranks=ranks))), 1024), 98, 14)
        assert len(rows) <= 14

    @pytest.mark.parametrize("ranks", [64, 200])
    def test_no_rank_is_cut_off_of_a_node_with_more_of_them_than_a_line_has_cells(self, ranks):
        view = view_of("many")
        rank_log = view.state.ranks[0]
        table = {rank: replace(rank_log, rank=rank, host="cpu-node") for rank in range(ranks)}
        rows = grid_rows(blocks_of(rank_rows(replace(view, state=RunState(log=view.state.log, ranks=table))), ranks), 98, 14)
        assert sum(plain(row).count(sign) for row in rows for sign in "■▲◆✗□") == ranks
        assert sum("cpu-node" in plain(row) for row in rows) == 1


def test_ranks_joined_from_the_state_are_what_is_shown():
    assert all(isinstance(row.rank, Rank) for row in rank_rows(view_of("healthy")))
