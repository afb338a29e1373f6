"""The page of differences: the section of the first one first."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from hangtop.cli.main import hangtop
from hangtop.query.compare import Difference
from hangtop.query.requests import DiffAsk
from hangtop.render.spans import plain
from hangtop.tui.widgets.diff_rows import diff_rows

FOUND = [
    Difference("end", "last verdict", "finished", "hung: [bold]x"),
    Difference("pace", "time of a step", "2 s", "3 s"),
    Difference("metric", "grad_norm", "1", "9", step=900),
    Difference("metric", "loss", "1", "2", step=600),
]


def test_the_first_difference_stands_first_and_so_does_its_section():
    rows = [plain(row) for row in diff_rows(FOUND, 100)]
    assert rows[0].startswith("Where they part first")
    assert "loss  from step 600 on" in rows[1]
    order = [rows.index(next(row for row in rows if row.startswith(head))) for head in ("Numbers", "How they ended", "Pace")]
    assert order == sorted(order)
    assert rows.index(next(row for row in rows if "grad_norm" in row)) > 3
    assert any("hung: [bold]x" in row for row in rows)


def test_equal_runs_have_one_line():
    assert len(diff_rows([], 80)) == 1


def test_what_is_seen_now_is_compared_with_a_log_of_a_good_run(tmp_path: Path):
    pytest.importorskip("duckdb")
    from hangtop.query.child import answer
    from tests.unit.test_query_child import seen_of

    logs = [tmp_path / "good.log", tmp_path / "bad.log"]
    for log, worse in zip(logs, (0, 1), strict=True):
        log.write_text("".join(f"step {n}/200 loss={2 + n % 5 / 50 + worse * (n > 100):.3f}\n" for n in range(200)))
    told = answer(DiffAsk(str(logs[0]), files=(str(logs[1]),)), seen_of("healthy"), tmp_path)
    assert told.problem == ""
    assert [(each.name, each.step) for each in told.differences or () if each.about == "metric"] == [("loss", 100)]
    assert "no such file" in answer(DiffAsk("/nowhere.log"), seen_of("healthy"), tmp_path).problem.lower()


def test_without_a_terminal_there_is_no_page(tmp_path: Path):
    log = tmp_path / "a.log"
    log.write_text("step 1/9\n")
    done = CliRunner().invoke(hangtop, ["diff", str(log), str(log), "--screen"])
    assert done.exit_code == 2
    assert "needs a terminal" in done.output
