"""A log of any size at a glance: no pause is missed, and none is made up, in what was not read."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hangtop.logs.catalog.load import load
from hangtop.logs.extract.literal_index import index_of
from hangtop.query import sampled_steps as sampling
from hangtop.query.partial_dates import Anchor, days_of, leap_seconds, moments_of
from hangtop.query.sampled_steps import sampled_steps
from hangtop.query.tables import Step
from hangtop.query.whole_run import whole_run

INDEX = index_of(load())
BEGIN = datetime(2026, 1, 11, 20, tzinfo=UTC)
DAY_S = 86_400.0


def written(path: Path, form: str, steps: int, pause_after: int, pause_s: float = 600, begin: datetime = BEGIN) -> Path:
    at = begin
    with path.open("w") as log:
        for step in range(steps):
            at += timedelta(seconds=3 + (pause_s if step == pause_after else 0))
            log.write(f"{at:{form}} step {step}/{steps} loss=0.5\n")
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def run_of(path: Path):
    seen = sampled_steps(path, INDEX, 0.0)
    return whole_run(Step("run", step.at, step.rank, step.step, None, None, step.counter) for step in seen)


@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M:%S", "[%H:%M:%S]", "%H:%M:%S,000", "INFO %m-%d %H:%M:%S"])
def test_the_one_pause_is_found_and_the_days_are_counted(form, tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "WINDOWS", 20)
    run = run_of(written(tmp_path / "train.log", form, 30_000, 12_345))
    assert run.begin == pytest.approx(BEGIN.timestamp() + 3)
    assert run.end == pytest.approx(BEGIN.timestamp() + 90_000 + 600)
    assert [(pause.end - pause.begin, pause.begin - run.begin) for pause in run.pauses] == [(603, 3 * 12_344)]
    assert len(run.steps) < 1_000


def test_a_new_day_begins_where_the_clock_falls_by_half_a_day_and_the_last_is_the_file_s(tmp_path):
    midnight = datetime(2026, 1, 12, tzinfo=UTC).timestamp()
    assert days_of([80_000.0, 79_999.0, 10.0, 50.0], midnight + 60, 0.0) == [midnight - DAY_S] * 2 + [midnight] * 2
    assert days_of([80_000.0], midnight + 60, 0.0) == [midnight - DAY_S]
    assert days_of([10.0], midnight - 3590, -3600.0) == [midnight - 3600]
    assert days_of([], midnight, 0.0) == []


def test_times_of_day_have_their_date_in_the_tables(tmp_path):
    pytest.importorskip("duckdb")
    from hangtop.query.database import Database
    from hangtop.query.from_logs import add_steps

    log = written(tmp_path / "train.log", "[%H:%M:%S]", 6_000, 3_000, 6 * 3600.0)
    with Database() as database:
        add_steps(database, log, "run", INDEX, 0.0)
        (row,) = database.ask("SELECT min(time_s), max(time_s), count(time_s), count(DISTINCT time_s) FROM steps").rows
    assert row == (BEGIN.timestamp() + 3, BEGIN.timestamp() + 18_000 + 21_600, 6_000, 6_000)


NEW_YEARS_EVE = datetime(2025, 12, 31, 22, tzinfo=UTC)


@pytest.mark.parametrize("form", ["INFO %m-%d %H:%M:%S", "[%m/%d %H:%M:%S]", "I%m%d %H:%M:%S.000", "%b %d %H:%M:%S"])
def test_dates_without_a_year_have_that_of_the_file_and_the_one_before_it_where_they_fall(form, tmp_path):
    log = written(tmp_path / "train.log", form, 6_000, 10, begin=NEW_YEARS_EVE)
    begin, end = NEW_YEARS_EVE.timestamp() + 3, NEW_YEARS_EVE.timestamp() + 18_600
    seen = sampled_steps(log, INDEX, 0.0)
    assert (seen[0].at, seen[-1].at, [step.at for step in seen]) == (begin, end, sorted(step.at for step in seen))
    pytest.importorskip("duckdb")
    from hangtop.query.database import Database
    from hangtop.query.from_logs import add_steps

    with Database() as database:
        add_steps(database, log, "run", INDEX, 0.0)
        (row,) = database.ask("SELECT min(time_s), max(time_s), count(time_s), count(DISTINCT time_s) FROM steps").rows
    assert row == (begin, end, 6_000, 6_000)


def test_a_late_line_of_the_old_year_is_of_the_old_year():
    told = [leap_seconds(date) for date in ("12-31 23:59:59", "01-01 00:00:01", "12-31 23:59:58", "02/29 00:00:02")]
    moments = moments_of(
        [each for each in told if each is not None], Anchor(None, datetime(2025, 4, 1, tzinfo=UTC).timestamp(), 0.0)
    )
    assert [f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}" for at in moments] == [
        "2024-12-31 23:59:59", "2025-01-01 00:00:01", "2024-12-31 23:59:58", "2025-03-01 00:00:02"
    ]  # fmt: skip
    assert leap_seconds("13-01 00:00:00") is None
    assert moments_of([], Anchor(None, 0.0, 0.0)) == []


def test_a_duration_in_a_bar_is_no_time_of_day(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("".join(f" {n}%|█  | {n}/100 [01:02:{n % 60:02}<02:00:00, 1.00it/s, loss=0.5]\n" for n in range(1, 90)))
    assert sampled_steps(log, INDEX, 0.0) == []


def test_a_full_date_at_the_head_tells_the_year_of_the_steps_in_a_copy_made_years_later(tmp_path):
    log = tmp_path / "train.log"
    steps = [*(f"12-31 23:59:{n} step {n}/99 loss=0.5" for n in range(50, 60)), "01-01 00:00:05 step 60/99 loss=0.5"]
    log.write_text("\n".join(["begun at 2024-12-31 23:40:00", *steps, ""]))
    told = [seen.at for seen in sampled_steps(log, INDEX, 0.0)]
    new_year = datetime(2025, 1, 1, tzinfo=UTC).timestamp()
    assert told == [new_year + shift for shift in (*range(-10, 0), 5)]
    pytest.importorskip("duckdb")
    from hangtop.query.database import Database
    from hangtop.query.from_logs import add_steps

    with Database() as database:
        add_steps(database, log, "run", INDEX, 0.0)
        assert [at for (at,) in database.ask("SELECT time_s FROM steps ORDER BY step").rows] == told
