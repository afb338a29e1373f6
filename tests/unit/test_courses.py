"""The numbers of a whole run as charts: thinned in a child process, painted with a cursor that reads them."""

from __future__ import annotations

import pytest

from hangtop.query.courses import POINTS, by_rank, courses, metric_by_rank
from hangtop.query.database import Database
from hangtop.query.lateness import lateness
from hangtop.query.tables import GpuRow, Metric, Step
from hangtop.render.course_rows import LINES, Curve, Window, axis_of, course_rows, laid_over, readout
from hangtop.render.late_rows import late_rows
from hangtop.render.spans import width_of
from tests.fakes.views import plain

T0 = 1_768_126_000.0
LOSS = Curve("loss", tuple((T0 + 10 * i, i, 3 - i / 100, 3 - i / 100, 9.0 if i == 77 else 3 - i / 100) for i in range(200)))


def test_a_course_is_thinned_and_keeps_its_spike() -> None:
    pytest.importorskip("duckdb")
    with Database() as database:
        steps = range(3 * POINTS)
        database.fill(Step("r", T0 + 2.0 * i, None, i, None, None, "run") for i in steps)
        database.fill(Metric("r", T0 + 2.0 * i, None, i, "it's loss", 99.0 if i == 1234 else 1.0) for i in steps)
        database.fill(Metric("r", T0 + 2.0 * i, None, i, "loss", None if i % 2 else 0.5) for i in steps)
        told = {course.name: course.points for course in courses(database, "'r'")}
    assert list(told) == ["loss", "it's loss", "s/step"]
    assert len(told["it's loss"]) == POINTS
    assert max(point[4] for point in told["it's loss"]) == 99.0
    assert {point[2] for point in told["s/step"]} == {2.0}


def test_a_metric_by_rank_has_the_odd_rank_first_and_the_place_behind_the_last_is_none() -> None:
    pytest.importorskip("duckdb")
    with Database() as database:
        values = {"lr": lambda rank: 1e-5, "loss": lambda rank: 1.0 + (rank == 13) + rank / 100}
        told_by = [(rank, step, name) for rank in range(20) for step in range(5) for name in values]
        database.fill(Metric("r", T0 + step, rank, step, name, values[name](rank)) for rank, step, name in told_by)
        database.fill(Metric("r", T0 + step, 0, step, "eta", 3.0) for step in range(5))
        assert [metric_by_rank(database, "'r'", place) for place in (1, 2, 3)] == ["loss", "lr", ""]
        told = by_rank(database, "'r'", "loss")
    assert told[0].name == "rank 13"
    assert len(told) == 16
    assert {point[2] for point in told[0].points} == {2.13}


def test_power_and_memory_of_each_gpu_are_courses() -> None:
    pytest.importorskip("duckdb")
    nothing = dict.fromkeys(GpuRow.__struct_fields__)
    with Database() as database:
        for gpu in range(2):
            known = {
                "run": "r",
                "host": "n1",
                "gpu": gpu,
                "status": "ok",
                "throttle": "",
                "power_w": 300.0,
                "used_bytes": 3 << 30,
            }
            database.fill(GpuRow(**{**nothing, **known, "time_s": T0 + i}) for i in range(9))
        names = [course.name for course in courses(database, "'r'")]
    assert names == ["GPU 0 power W", "GPU 1 power W", "GPU 0 memory G", "GPU 1 memory G"]


def test_the_spike_the_cursor_and_the_axis_are_painted() -> None:
    rows = course_rows([LOSS], Window(cursor=100 / 199), 80)
    assert "2.000" in plain(rows[0])
    assert "greatest 9.000" in plain(rows[0])
    assert sum("█" in plain(row) or "▇" in plain(row) for row in rows[1 : 1 + LINES]) >= 1
    assert sum(role == "accent reverse" for row in rows for _, role in row) == LINES
    assert "step 100" in plain(readout([LOSS], Window(cursor=100 / 199)))


def test_a_closer_look_stays_on_the_axis_and_around_the_cursor() -> None:
    window = Window(cursor=1.0)
    for _ in range(20):
        window = window.zoomed(0.5)
        assert 0 <= window.begin <= window.cursor <= window.end <= 1
    for _ in range(9):
        window = window.moved(-5)
        assert window.begin <= window.cursor <= window.end
    assert window.zoomed(1e9) == Window(0.0, 1.0, window.cursor)


@pytest.mark.parametrize("width", [20, 60, 80, 200])
def test_every_curve_fits_whatever_it_tells(width: int) -> None:
    flat = Curve("a metric with a long name", tuple((T0 + i, i, 5.0, 5.0, 5.0) for i in range(50)))
    below = Curve("x", tuple((T0 + i, i, -1e9 * i, -1e9 * i, -1e9 * i) for i in range(50)))
    untimed = Curve("y", tuple((None, i, 1.0, 1.0, 1.0) for i in range(50)))
    for curves in ([flat], [below, flat], [untimed], [untimed, LOSS, flat], []):
        for window in (Window(), Window(0.4, 0.6, 0.5), Window(0.5, 0.505, 0.5)):
            assert all(width_of(row) <= width for row in course_rows(curves, window, width)), curves
    assert axis_of([untimed]).timed is False


def test_who_lagged_when_and_who_never_came_is_late_until_the_end() -> None:
    pytest.importorskip("duckdb")
    with Database() as database:
        for rank in range(4):
            late = {2: 8.0 if rank == 3 else 0.0, 5: 40.0 if rank == 1 else 0.0}
            steps = [step for step in range(10) if rank != 2 or step < 7]
            database.fill(Step("r", T0 + 100.0 * i + late.get(i, 0.0), rank, i, None, None, "rank") for i in steps)
        told = {course.name: {point[1]: point[4] for point in course.points} for course in lateness(database, "'r'")}
    assert list(told) == ["rank 0", "rank 1", "rank 2", "rank 3"]
    assert (told["rank 3"][2], told["rank 1"][5], told["rank 0"][5]) == (8.0, 40.0, 0.0)
    assert [told["rank 2"][step] for step in (6, 7, 8, 9)] == [0.0, 200.0, 100.0, 0.0]


def test_the_later_the_darker_and_the_cursor_reads_the_row() -> None:
    rows = late_rows([("rank 0", [0.0, 0.2, 0.0, None]), ("rank 1", [0.0, 9.0, 3600.0, 1.5])], 1, 12, 30)
    assert [plain(row) for row in rows[1:]] == ["rank 0    0s ···", "rank 1    9s ·▒█░"]
    assert rows[2][-1] == ("█░", "bad bold") or [role for _, role in rows[2][3:]] == [
        "faint",
        "accent reverse",
        "bad bold",
        "data",
    ]
    assert late_rows([("rank 0", [0.0, 0.5])], 0, 12, 30) == []


def test_another_run_lies_over_it_by_steps_and_both_are_read() -> None:
    other = Curve("loss", tuple((T0 + 9_999 + 7 * i, i, 9 - i / 100, 9 - i / 100, 9 - i / 100) for i in range(200)))
    power = Curve("GPU 0 power W", tuple((T0 + 10 * i + 1, None, 300.0, 300.0, 300.0 + i) for i in range(190)), from_zero=True)
    curves = laid_over([LOSS, power], [other])
    assert axis_of(curves).timed is False
    assert [point[1] for point in curves[1].points[:3]] == [1, 2, 3]
    rows = course_rows(curves, Window(cursor=0.5), 100)
    assert plain(rows[0]).startswith("loss         2")
    assert "● 8." in plain(rows[0])
    assert any("●" in plain(row) for row in rows[1 : LINES + 1])
    assert "step 199" in plain(rows[-1])
