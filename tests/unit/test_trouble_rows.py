"""What the lines above the footer say of a source that is not well."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.render.source_status import trouble_rows
from hangtop.render.view import View
from hangtop.state.run_state import RunState, fold
from hangtop.tui.pages.watch_page import small_rows
from tests.fakes.views import plain, view_of

LONG = "the NVIDIA driver refuses this user: " + "words that go on and on, " * 8


def told(*sources: SourceHealth, width: int = 78, wide: bool = False, lines: int = 2) -> list[str]:
    state = fold(RunState(), Reading("probe", "here", 1.0, Heartbeat(sources)))
    view = View(state, None, WatchSpec(), 1.0)
    return ["".join(words for words, _ in row).rstrip() for row in trouble_rows(view, width, wide=wide, lines=lines)]


def test_an_absent_driver_keeps_one_line_that_says_why():
    assert told(SourceHealth("gpu", absent="no NVIDIA driver here")) == ["gpu  none: no NVIDIA driver here"]
    assert told(SourceHealth("gpu", absent="no NVIDIA driver here"), wide=True) == []


def test_trouble_comes_before_absence():
    assert told(SourceHealth("gpu", absent="none"), SourceHealth("ray", problem="no answer")) == ["ray  no answer"]


def test_a_long_reason_has_two_lines_and_says_where_it_was_cut():
    lines = told(SourceHealth("gpu", problem=LONG))
    assert [len(line) <= 78 for line in lines] == [True, True]
    assert lines[0].startswith("gpu  the NVIDIA driver")
    assert lines[1].startswith("     ")
    assert lines[1].endswith("…")
    assert len(told(SourceHealth("gpu", problem=LONG), lines=1)) == 1


def test_a_reason_that_fits_in_two_lines_is_whole():
    lines = told(SourceHealth("gpu", problem=LONG[:120].strip()))
    assert " ".join(" ".join(lines).split()) == f"gpu {LONG[:120].strip()}"


def test_nothing_is_said_where_all_is_well():
    assert told(SourceHealth("log", read_at=1.0)) == []


@pytest.mark.parametrize("size", [(59, 10), (40, 5), (30, 3), (20, 2), (80, 1)])
def test_a_very_small_terminal_shows_the_truth_and_what_to_do(size: tuple[int, int]):
    view = view_of("fleet_hung")
    case = take_snapshot(view.state, view.spec, view.now)
    rows = [plain(row) for row in small_rows(replace(view, advice=advice(case, view.verdict, None)), *size)]
    assert len(rows) <= size[1]
    assert "HUNG" in rows[0]
    assert size[1] < 2 or rows[1].startswith("Rank 3")
    assert size[1] < 3 or any(row.startswith("do hangtop stacks") for row in rows)
