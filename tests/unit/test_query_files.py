"""A query is text that others may have written: it reads and writes no file but those that were named beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hangtop.cli.commands import query
from hangtop.cli.commands.query import Wanted

duckdb = pytest.importorskip("duckdb")
from hangtop.query.database import OTHER_FILES, Database, QueryError  # noqa: E402

READS = (
    "SELECT * FROM read_text('{}')",
    "SELECT * FROM read_csv('{}')",
    "SELECT * FROM glob('{}*')",
    "SELECT * FROM read_blob('{}')",
)
WRITES = (
    "COPY (SELECT 1) TO '{}.out'",
    "ATTACH '{}.db'",
    "EXPORT DATABASE '{}.d'",
    "SELECT 1) TO '{}.out' (FORMAT csv); SELECT (1",
)
OPENS = (
    "SET enable_external_access = true",
    "RESET allowed_paths",
    "SET allowed_paths = ['/']",
    "SET lock_configuration = false",
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text("step 1/9 loss=0.5\nstep 2/9 loss=0.4\n")
    return path


@pytest.mark.parametrize("sql", READS + WRITES)
def test_another_file_is_neither_read_nor_written(sql: str, tmp_path: Path) -> None:
    secret = tmp_path / "other"
    secret.write_text("hunter2\n")
    with Database() as database, pytest.raises(QueryError) as refused:
        database.ask(sql.format(secret))
    assert "hunter2" not in str(refused.value)
    assert list(tmp_path.iterdir()) == [secret]


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO '{}' (FORMAT csv, USE_TMP_FILE false)",
        "SELECT 1; COPY (SELECT 1) TO '{}' (FORMAT csv, USE_TMP_FILE false)",
        "COPY (PIVOT steps ON step USING sum(step)) TO '{}' (FORMAT csv, USE_TMP_FILE false)",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{}' (FORMAT csv, USE_TMP_FILE false)",
        "PREPARE p AS COPY (SELECT 1) TO '{}' (FORMAT csv, USE_TMP_FILE false); EXECUTE p",
    ],
)
def test_nor_is_the_log_that_is_asked_written(sql: str, log: Path, tmp_path: Path) -> None:
    before = log.read_bytes()
    for wanted in (Wanted(), Wanted(wanted="parquet", output=tmp_path / "a.parquet")):
        assert query.run([str(log), sql.format(log)], wanted, None) == 2
    assert log.read_bytes() == before


@pytest.mark.parametrize("wanted", ["csv", "parquet"])
def test_nor_does_an_answer_replace_it(wanted: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = log.read_bytes()
    assert query.run([str(log), "SELECT step FROM steps"], Wanted(wanted=wanted, output=log), None) == 2
    assert "another file" in capsys.readouterr().err
    assert log.read_bytes() == before


def test_what_touches_tables_alone_is_a_query_too() -> None:
    with Database() as database:
        asked = "CREATE TEMP TABLE mine AS SELECT 1 AS x, 'a' AS y; PIVOT mine ON y USING sum(x)"
        assert database.ask(asked).names[-1] == "a"
        assert database.ask("SUMMARIZE steps").names[0] == "column_name"


def test_nor_by_the_command_line_as_text_or_as_parquet(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = set(tmp_path.iterdir())
    for wanted in (Wanted(), Wanted(wanted="parquet", output=tmp_path / "a.parquet")):
        assert query.run([str(log), READS[0].format("/etc/hostname")], wanted, None) == 2
    assert OTHER_FILES in capsys.readouterr().err
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("sql", OPENS)
def test_a_query_cannot_open_what_is_shut(sql: str) -> None:
    with Database() as database:
        assert database.ask("SELECT 1").rows == ((1,),)
        with pytest.raises(QueryError):
            database.ask(sql)


def test_nor_does_the_line_of_the_screen(tmp_path: Path) -> None:
    with Database(tmp_path) as database, pytest.raises(QueryError, match=OTHER_FILES[:20]):
        database.select("SELECT * FROM read_text('/etc/hostname')")


def test_its_own_log_is_read_and_its_answer_written_as_asked(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "steps.parquet"
    assert query.run([str(log), "SELECT step FROM steps"], Wanted(wanted="parquet", output=out), None) == 0
    assert duckdb.sql(f"SELECT count(*) FROM '{out}'").fetchall() == [(2,)]
    assert query.run([str(log), "SELECT text FROM lines"], Wanted(output=tmp_path / "lines.txt"), None) == 0
    assert "loss=0.4" in (tmp_path / "lines.txt").read_text()
