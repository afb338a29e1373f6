"""What the screen asks of its child process: over what was seen and the logs, and nothing that writes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hangtop.feeds.replay import recording_of
from hangtop.feeds.seen import LEFT_OUT, Seen
from hangtop.query.completion import complete
from hangtop.query.requests import ChartAsk, SqlAsk, TimelineAsk
from hangtop.records import wire

duckdb = pytest.importorskip("duckdb")
from hangtop.query.chart import all_charts  # noqa: E402
from hangtop.query.chart_series import chart_columns, chart_series  # noqa: E402
from hangtop.query.child import answer  # noqa: E402
from hangtop.query.database import Answer, Database, QueryError  # noqa: E402
from hangtop.query.shown import MOST_ROWS, shown  # noqa: E402

RECORDINGS = Path(__file__).parent.parent / "recordings"


def session(name: str):
    first, *rest = (RECORDINGS / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    return wire.decode_header(first).spec, [wire.decode_reading(line) for line in rest]


def seen_of(name: str) -> bytes:
    """What a hangtop has seen of this session."""
    spec, readings = session(name)
    kept = Seen(spec, readings[0].at)
    for reading in readings:
        kept.keep(reading)
    return kept.recording()


@pytest.fixture(scope="module")
def seen() -> bytes:
    return seen_of("stalled")


def test_what_was_seen_is_a_recording_that_ends_where_the_session_ended(seen):
    _, readings = session("stalled")
    kept = recording_of(seen, "seen")
    known = [reading for reading in kept.readings() if reading is not None]
    assert kept.torn == 0
    assert {type(each.value) for each in readings} - {type(each.value) for each in known} <= set(LEFT_OUT)
    assert known[-1].at == pytest.approx(readings[-1].at, abs=10)


def test_the_tables_tell_what_was_seen_and_the_steps_of_the_log_itself(seen, tmp_path):
    log = tmp_path / "train.log"
    log.write_text("".join(f"2026-01-11 10:00:{n:02} step {n}/60 loss={n / 10}\n" for n in range(60)))
    counts = "(SELECT count(*) FROM steps), (SELECT count(*) FROM verdicts) > 0, (SELECT count(*) FROM lines)"
    told = answer(SqlAsk(f"SELECT {counts}, run FROM ranks LIMIT 1", (str(log),)), seen, tmp_path)
    assert told.problem == ""
    assert told.table is not None
    assert told.table.cells == (("60", "true", "60", "live"),)


def test_only_a_select_is_asked_and_the_words_of_duckdb_stand_in_one_line(seen, tmp_path):
    for sql in (f"COPY (SELECT 1) TO '{tmp_path}/out.csv'", "SELECT 1; SELECT 2", "SET threads = 1", "-- nothing"):
        assert "one SELECT" in answer(SqlAsk(sql), seen, tmp_path).problem, sql
    assert not (tmp_path / "out.csv").exists()
    problem = answer(SqlAsk("SELECT nothing FROM steps"), seen, tmp_path).problem
    assert problem.startswith('Binder Error: Referenced column "nothing"')
    assert "LINE" not in problem
    assert "\n" not in problem


def test_a_long_answer_is_cut_and_its_points_are_of_all_rows(seen, tmp_path):
    told = answer(SqlAsk("SELECT i AS time_s, chr(27) || '[31mx' AS word FROM range(10_000) AS t(i)"), seen, tmp_path).table
    assert told is not None
    assert (len(told.cells), told.more, told.moments) == (MOST_ROWS, 10_000 - MOST_ROWS, (0,))
    assert told.cells[0][1] == "x"
    assert told.points[-1][0] == pytest.approx(10_000, rel=0.01)
    assert len(told.points) <= 2 * MOST_ROWS


def test_a_chart_fills_its_cells_and_is_plain_where_the_terminal_is(tmp_path):
    pytest.importorskip("plotext")
    points = tuple((float(n), float(n * n)) for n in range(50))
    told = answer(ChartAsk(("step", "loss"), (("", points),), 100, 20, plain=True), b"", tmp_path).lines
    assert max(map(len, told)) == 100
    assert len(told) == 20
    assert any("*" in line for line in told)


def test_ranks_runs_and_metrics_are_series_of_their_own_in_one_chart(seen, tmp_path):
    tables = "range(30) t(i), range(3) u(r), (VALUES ('loss'), ('lr')) v(m)"
    sql = f"SELECT i AS step, r AS rank, m AS name, i * r AS value FROM {tables}"
    told = answer(SqlAsk(sql), seen, tmp_path).table
    assert told is not None
    assert chart_columns(told, 0) == (0, 3)
    assert chart_columns(told, 1) is None
    series = dict(chart_series(told, 0, 3))
    assert sorted(series) == sorted(f"{name} rank {rank}" for name in ("loss", "lr") for rank in range(3))
    assert series["lr rank 2"][:3] == ((0.0, 0.0), (1.0, 2.0), (2.0, 4.0))
    pytest.importorskip("plotext")
    drawn = "\n".join(answer(ChartAsk(("step", "value"), chart_series(told, 0, 3), 100, 20), b"", tmp_path).lines)
    assert all(sign in drawn for sign in ("● loss rank 0", "lr rank 2", "✓"))


def test_two_columns_are_one_series_whatever_they_are_called(seen, tmp_path):
    told = answer(SqlAsk("SELECT i AS rank, i * i AS value FROM range(9) t(i)"), seen, tmp_path).table
    assert told is not None
    assert chart_columns(told, 0) == (0, 1)
    assert [len(points) for _, points in chart_series(told, 0, 1)] == [9]


def test_the_whole_run_of_what_was_seen_has_verdicts_and_ranks(seen, tmp_path):
    told = answer(TimelineAsk(), seen, tmp_path).run
    assert told is not None
    assert told.verdicts
    assert told.ranks


@pytest.mark.parametrize(
    ("typed", "after"),
    [
        ("slow", "slowest-steps "),
        ("SELECT avg(value) FROM me", "SELECT avg(value) FROM metrics "),
        ("SELECT head", "SELECT headline "),
        ("SELECT * FROM steps wher", "SELECT * FROM steps WHERE "),
        ("SELECT t.cul FROM verdicts t", "SELECT t.cul FROM verdicts t"),
    ],
)
def test_tab_completes_what_can_stand_there(typed, after):
    done = complete(typed, len(typed))
    assert done.text == after
    assert done.cursor == len(after)


def test_behind_a_name_of_a_table_stand_its_own_columns():
    begun = "SELECT v.he FROM verdicts v"
    assert complete(begun, len("SELECT v.he")).choices == ("headline",)
    assert complete("SELECT st", 9).chosen(0) == ("SELECT step", 11)


def test_without_duckdb_the_command_that_installs_it_is_said_and_the_whole_run_is_drawn_all_the_same(seen, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert answer(SqlAsk("FROM gpus"), seen, tmp_path).problem == "duckdb is not installed: pip install 'hangtop[query]'"
    assert answer(TimelineAsk(), seen, tmp_path).run is not None
    monkeypatch.setitem(sys.modules, "plotext", None)
    assert (
        "pip install 'hangtop[query]'"
        in answer(ChartAsk(("a", "b"), (("", ((0.0, 1.0), (1.0, 2.0))),), 80, 20), b"", tmp_path).problem
    )


def test_the_command_line_draws_each_further_column_over_the_first():
    pytest.importorskip("plotext")
    with Database() as database:
        found = database.ask("SELECT i AS step, r AS rank, i * r AS loss, 5.0 + i AS memory FROM range(9) t(i), range(2) u(r)")
    lines = list(all_charts(shown(found, found.rows), 70, 14, plain=True))
    assert len(lines) == 28
    assert max(map(len, lines)) == 70
    assert all(line.isascii() for line in lines)
    assert [line.split()[0] for line in lines if line.split()[-1] == "step"] == ["loss", "memory"]
    with pytest.raises(QueryError, match="two columns"):
        list(all_charts(shown(Answer(("a",), ("BIGINT",), ((1,),)), [(1,)]), 70, 14, plain=True))
