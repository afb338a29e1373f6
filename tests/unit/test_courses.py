"""The numbers of a whole run as charts: thinned in a child process, painted with a cursor that reads them."""

from __future__ import annotations

import pytest

from hangtop.query.courses import POINTS, courses
from hangtop.query.database import Database
from hangtop.query.tables import GpuRow, Metric, Step
from hangtop.render.course_rows import LINES, Curve, Window, axis_of, course_rows, readout
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
        told = {course.name: course.points for course in courses(database)}
    assert list(told) == ["loss", "it's loss", "s/step"]
    assert len(told["it's loss"]) == POINTS
    assert max(point[4] for point in told["it's loss"]) == 99.0
    assert {point[2] for point in told["s/step"]} == {2.0}


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
        names = [course.name for course in courses(database)]
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
