"""Recordings by SQL: tables that say what they hold, and what a person sees who asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hangtop.cli.main import hangtop
from hangtop.feeds.replay import load
from hangtop.query.recipes import recipes
from hangtop.query.tables import TABLES, columns, summary

duckdb = pytest.importorskip("duckdb")
from click.testing import CliRunner  # noqa: E402

from hangtop.query.database import Database, QueryError  # noqa: E402
from hangtop.query.runs import rows_of  # noqa: E402

RECORDINGS = Path(__file__).parent.parent / "recordings"
HUNG = RECORDINGS / "fleet_hung.jsonl"


@pytest.fixture(scope="module")
def database():
    recording = load(HUNG)
    with Database() as made:
        made.fill(rows_of("hung", recording.header.spec, recording.readings()))
        yield made


def asked(*words: object):
    return CliRunner().invoke(hangtop, ["query", *map(str, words)], standalone_mode=False)


@pytest.mark.parametrize("name", TABLES)
def test_each_column_says_what_it_is_and_needs_no_quotes(name, database):
    assert summary(TABLES[name])
    for column in columns(TABLES[name]):
        assert column.text
        database.ask(f"SELECT 'x', {column.name}, run FROM {name} ORDER BY {column.name}")


def test_the_hang_is_told_by_verdict_rank_and_frame(database):
    assert database.ask("SELECT word, culprits FROM verdicts").rows == (("hung", "rank 3"),)
    waits = "SELECT rank, doing FROM ranks WHERE status = 'waits'"
    assert database.ask(waits).rows == ((3, "waits for a lock in _wait_for_shard (fleet.py:88)"),)
    innermost = "SELECT DISTINCT function FROM stacks WHERE rank = 3 AND main AND depth = 0"
    assert database.ask(innermost).rows


def test_each_rank_stands_once_in_each_look(database):
    assert database.ask("SELECT max(n) FROM (SELECT count(*) AS n FROM ranks GROUP BY time_s, rank)").rows == ((1,),)


@pytest.mark.parametrize("name", recipes())
def test_each_recipe_can_be_asked(name, database):
    assert database.ask(recipes()[name].sql).names


def test_there_are_twenty_recipes_at_least():
    assert len(recipes()) >= 20


@pytest.mark.parametrize(
    ("sql", "said"), [("SELEC 1", "syntax error"), ("SELECT nothing FROM ranks", "nothing"), ("SELECT * FROM nowhere", "nowhere")]
)
def test_a_query_that_cannot_be_answered_is_one_line(sql, said, database):
    with pytest.raises(QueryError) as refused:
        database.ask(sql)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_answers_come_as_table_csv_json_and_markdown():
    sql = "SELECT rank, doing FROM ranks WHERE rank IN (3, 4) ORDER BY rank"
    table = asked(HUNG, sql).output.splitlines()
    assert table[0].split() == ["rank", "doing"]
    assert table[2].startswith("   3  waits for a lock")
    rows = [json.loads(line) for line in asked("--format", "json", HUNG, sql).output.splitlines()]
    assert rows[1] == {"rank": 4, "doing": "in all_reduce"}
    assert asked("--format", "csv", HUNG, sql).output.splitlines()[2] == "4,in all_reduce"
    assert asked("--format", "md", HUNG, sql).output.splitlines()[3] == "| 4 | in all_reduce |"


def test_several_recordings_are_told_apart():
    sql = "SELECT run, word FROM verdicts QUALIFY row_number() OVER (PARTITION BY run ORDER BY time_s DESC) = 1 ORDER BY run"
    rows = asked("--format", "csv", HUNG, RECORDINGS / "fleet_finished.jsonl", sql).output.splitlines()
    assert rows == ["run,word", "fleet_finished.jsonl,finished", "fleet_hung.jsonl,hung"]


def test_a_log_and_its_findings_are_asked_like_a_recording(tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text("step 1/9 loss=0.5\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    assert asked("--format", "csv", log, "SELECT id FROM findings WHERE role = 'cause'").output.splitlines()[1:]
    assert asked("--format", "csv", log, "SELECT step FROM steps").output.split() == ["step", "1"]


def test_control_codes_of_a_log_do_not_reach_the_terminal(tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text("step 1/9 \x1b]0;owned\x07 \x1b[31mred\n")
    for wanted in ("table", "csv", "md"):
        assert "\x1b" not in asked("--format", wanted, log, "SELECT text FROM lines").output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no question is asked"),
        (("SELECT 1",), "no file is named"),
        (("/nowhere.jsonl", "SELECT 1"), "/nowhere.jsonl: No such file"),
        (("--recipe", "none", "x"), "there is no recipe 'none'"),
        (("--format", "parquet", HUNG, "SELECT 1"), "name a file with -o"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(words, said, capfd):
    answer = asked(*words)
    heard = answer.stderr
    assert said in heard
    assert heard.count("\n") == 1
    assert answer.return_value == 2 or answer.exit_code == 2


def test_export_writes_each_table_that_has_rows(tmp_path: Path, database):
    CliRunner().invoke(hangtop, ["export", str(HUNG), "-o", str(tmp_path / "out")], standalone_mode=False)
    written = {path.stem for path in (tmp_path / "out").iterdir()}
    assert {"ranks", "stacks", "verdicts", "gpus"} <= written <= set(TABLES)
    count = duckdb.sql(f"SELECT count(*) FROM read_parquet('{tmp_path}/out/ranks.parquet')").fetchall()
    assert tuple(count) == database.ask("SELECT count(*) FROM ranks").rows
