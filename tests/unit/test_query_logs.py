"""Steps of log files by SQL: what the database reads is what the log extractors read."""

from __future__ import annotations

from pathlib import Path

import pytest

from hangtop.logs.catalog.load import load
from hangtop.logs.extract.literal_index import index_of
from hangtop.query.from_logs import add_lines, add_steps
from hangtop.query.step_shapes import StepReader, learn

duckdb = pytest.importorskip("duckdb")
from hangtop.query.database import Database  # noqa: E402

CATALOG = load()
INDEX = index_of(CATALOG)
READER = StepReader(INDEX, 0.0)
EXAMPLES = sorted(
    {
        line.example: f"{profile.name}:{line.id}"
        for profile in CATALOG.profiles.values()
        for line in profile.progress
        if READER.read(line.example) is not None
    }.items()
)


@pytest.fixture
def database():
    with Database() as made:
        yield made


def changed(line: str, turn: int) -> str:
    """The same line at another step."""
    return "".join(str((int(sign) + turn) % 9 + 1) if sign in "0123456789" else sign for sign in line)


@pytest.mark.parametrize("example", [text for text, _ in EXAMPLES], ids=[name for _, name in EXAMPLES])
def test_each_kind_of_step_line_is_read_by_the_database_as_by_the_extractors(example, database, tmp_path: Path):
    lines = [line for turn in range(8) if (line := changed(example, turn)) and READER.read(line) is not None]
    log = tmp_path / "train.log"
    log.write_text("\n".join([*lines, ""]))
    add_steps(database, log, "run", INDEX, 0.0)
    said = [READER.read(line) for line in lines]
    wanted = sorted((read.readings["step"], read.readings.get("total"), read.readings.get("step_s")) for read in said)
    found = sorted(tuple(row) for row in database.ask("SELECT step, total, step_s FROM steps").rows)
    assert [(step, total, pytest.approx(step_s, nan_ok=True)) for step, total, step_s in found] == wanted
    for name in {name for read in said for name in read.readings if name.startswith("metric:")}:
        values = sorted(read.readings[name] for read in said if name in read.readings)
        plain = name.removeprefix("metric:")
        told = database.ask(f"SELECT value FROM metrics WHERE name = '{plain}' ORDER BY value").rows
        assert [value for (value,) in told] == pytest.approx(values), name


def test_ranks_and_times_come_from_the_line(database, tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text(
        "".join(f"[2026-01-11 10:00:0{n},250] [rank{n % 2}] step {n}/9 loss={n / 10} queue_len=1{n}\n" for n in range(9))
    )
    add_steps(database, log, "run", INDEX, 0.0)
    rows = database.ask("SELECT rank, step, time_s FROM steps ORDER BY step").rows
    assert [row[:2] for row in rows] == [(n % 2, n) for n in range(9)]
    assert [row[2] for row in rows] == pytest.approx([1768125600.25 + n for n in range(9)])
    assert database.ask("SELECT max(value) FROM metrics WHERE name = 'queue_len'").rows == ((18.0,),)


def test_a_number_that_is_none_is_null_and_a_line_that_is_no_text_is_counted(database, tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_bytes(b"step 1/9 loss=0.5\nbad \xff step 2/9 loss=0.4\nstep 3/9 loss=nan\n\nstep 4/9 loss=0.3\rstep 5/9 loss=0.2\n")
    add_lines(database, log, "run")
    left = add_steps(database, log, "run", INDEX, 0.0)
    assert left.not_text == 1
    assert database.ask("SELECT step, value FROM metrics ORDER BY step").rows == ((1, 0.5), (3, None), (4, 0.3), (5, 0.2))
    assert database.ask("SELECT count(*) FROM lines WHERE text LIKE 'step%'").rows == ((4,),)


def test_a_form_that_was_in_no_piece_of_the_file_is_learnt_from_lines_that_are_like_the_known_ones(
    database, tmp_path, monkeypatch
):
    monkeypatch.setattr("hangtop.query.from_logs.WINDOWS", 2)
    monkeypatch.setattr("hangtop.query.from_logs.WINDOW_BYTES", 200)
    plain = [f"step {n}/900 loss=0.{n}" for n in range(100, 300)]
    rare = [f"step {n}/900 loss=0.{n} grad_norm=1.{n}" for n in range(300, 310)]
    log = tmp_path / "train.log"
    log.write_text("\n".join([*plain, *rare, *(line.replace("/900", "/901") for line in plain), ""]))
    left = add_steps(database, log, "run", INDEX, 0.0)
    assert left.unread == 0
    assert database.ask("SELECT count(*) FROM steps").rows == ((410,),)
    assert database.ask("SELECT count(*) FROM metrics WHERE name = 'grad_norm'").rows == ((10,),)


def test_a_line_of_which_only_the_beginning_is_of_the_frequent_form_is_read_by_its_own(database, tmp_path: Path):
    head = "[2026-01-11 10:00:0{n}] [rank1] step {n}/9 loss=0.{n} lr=1e-05 grad_norm=2.{n} "
    ends = ("mem=3.{n}GB tok=4{n}", "mem=3.{n}GB tok=4{n}", "mem=3.{n}GB tok=4{n} late", "mem=none")
    log = tmp_path / "train.log"
    log.write_text("".join(f"{head}{end}\n".format(n=n) for n in range(1, 9) for end in ends))
    assert add_steps(database, log, "run", INDEX, 0.0).unread == 0
    assert database.ask("SELECT step, count(*) FROM steps GROUP BY step ORDER BY step").rows == tuple((n, 4) for n in range(1, 9))
    told = "SELECT name, count(*), max(value) FROM metrics WHERE name IN ('mem', 'loss') GROUP BY name ORDER BY name"
    assert database.ask(told).rows == (("loss", 32, 0.8), ("mem", 24, 3.8))


def test_lines_that_tell_no_step_teach_no_form():
    assert list(learn(["hello", "", "loaded 12 files in 3.5 s", "x" * 5_000], READER)) == []


@pytest.mark.parametrize("stamp", ["2026-01-11 10:00:00", "2026/01/11 10:00:00", "2026-01-11T10:00:00Z", "2026-01-11_10:00:00"])
def test_a_date_in_each_of_its_forms_is_the_same_moment(stamp, database, tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text(f"{stamp} step 1/9 loss=0.5\n" * 2)
    add_steps(database, log, "run", INDEX, 0.0)
    assert database.ask("SELECT DISTINCT time_s FROM steps").rows == ((1768125600.0,),)


def test_a_date_that_is_none_gives_no_time_and_the_step_is_read(database, tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text("".join(f"[2026-13-45 10:00:00] step {n}/9 loss=0.5\n" for n in range(3)))
    add_steps(database, log, "run", INDEX, 0.0)
    assert database.ask("SELECT step, time_s FROM steps").rows == ((0, None), (1, None), (2, None))


def test_a_bar_that_is_still_empty_is_one_step(database, tmp_path: Path):
    log = tmp_path / "train.log"
    bars = ["          ", "          ", "█         ", "██        "]
    log.write_text("".join(f"  {n}%|{bar}| {n}/400 [00:0{n}<10:12,  2.55s/it, loss=0.3]\n" for n, bar in enumerate(bars)))
    add_steps(database, log, "run", INDEX, 0.0)
    assert database.ask("SELECT step FROM steps ORDER BY step").rows == ((0,), (1,), (2,), (3,))


def test_where_the_first_values_are_no_numbers_later_ones_are_read(database, tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text("step 1/9 loss=nan\nstep 2/9 loss=inf\nstep 3/9 loss=0.5\n")
    add_steps(database, log, "run", INDEX, 0.0)
    assert database.ask("SELECT step, value FROM metrics WHERE name = 'loss' ORDER BY step").rows == (
        (1, None),
        (2, None),
        (3, 0.5),
    )
