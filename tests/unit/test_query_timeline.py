"""A whole run as one picture."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from hangtop.cli.main import hangtop
from hangtop.query.tables import FindingRow, RankRow, Row, StageRow, Step, VerdictRow
from hangtop.query.timeline_svg import TimelineDrawing
from hangtop.query.whole_run import MOST_RANKS, NoTimeError, Span, whole_run
from hangtop.render.spans import plain
from hangtop.tui.widgets.timeline_rows import TextTimeline

RECORDINGS = Path(__file__).parent.parent / "recordings"
AT = 1_768_125_600.0


def rank_row(rank: int, at: float, status: str, lag: int = 0) -> RankRow:
    return RankRow("run", at, rank, "n0", 1, 0, "train_loop", 1, lag, "S", 1.0, 1, 1.0, "", status)


def rows() -> list[Row]:
    return [
        StageRow("run", 1, "train_loop", "training", "generic", AT, None, None),
        StageRow("run", 1, "checkpoint", "save", "generic", AT + 40, AT + 50, 10.0),
        StageRow("run", 2, "train_loop", "training", "generic", AT + 600, None, None),
        *(Step("run", AT + 10 * n, None, n, 99, None, "run") for n in range(11)),
        Step("run", AT + 600, None, 11, 99, None, "run"),
        VerdictRow("run", AT, "running", None, "likely", "Running.", None, 1.0, "", ""),
        VerdictRow("run", AT + 250, "hung", None, "likely", "Hung.", None, 1.0, "rank 1", ""),
        FindingRow("run", "nccl.timeout", "fatal", "cause", 1, AT + 260, AT + 260, 1, 1, 0, 5, "<b>&timeout", ""),
        *(rank_row(rank, AT + 100, "waits" if rank == 1 else "collective") for rank in range(4)),
    ]


def test_stages_verdicts_pauses_and_events_lie_on_one_axis():
    run = whole_run(rows())
    assert (run.begin, run.end) == (AT, AT + 600)
    assert run.verdicts == (Span(AT, AT + 250, "running"), Span(AT + 250, AT + 600, "hung"))
    assert [span.name for span in run.stages] == ["training", "save", "training"]
    assert run.pauses == (Span(AT + 100, AT + 600, "no step"),)
    assert [(mark.kind, mark.at) for mark in run.marks] == [("save", AT + 40), ("finding", AT + 260), ("restart", AT + 600)]


def test_the_odd_rank_stands_first_and_of_many_ranks_the_number_left_out_is_said():
    assert whole_run(rows()).ranks[0].rank == 1
    many = whole_run([rank_row(rank, AT + rank, "collective") for rank in range(MOST_RANKS + 7)])
    assert (len(many.ranks), many.ranks_left_out) == (MOST_RANKS, 7)


def test_what_has_no_time_makes_no_picture():
    with pytest.raises(NoTimeError):
        whole_run([Step("run", None, None, 1, 9, None, "run")])


def test_the_picture_is_well_formed_and_foreign_text_in_it_is_text():
    drawing = TimelineDrawing(whole_run(rows()), "<script>\x1b[31m", {"ink": "#fff"}, "monospace").svg()
    root = ElementTree.fromstring(drawing)
    assert not [each for each in root.iter() if "script" in each.tag]
    said = " ".join(each.text or "" for each in root.iter())
    assert "finding: nccl.timeout" in said
    assert "<script>" in said
    assert "\x1b" not in drawing


@pytest.mark.parametrize("name", ["fleet_hung.jsonl", "many.jsonl", "healthy.jsonl"])
def test_a_recording_is_drawn(name, tmp_path: Path):
    out = tmp_path / "run.svg"
    assert CliRunner().invoke(hangtop, ["timeline", str(RECORDINGS / name), "-o", str(out)]).exit_code == 0
    assert ElementTree.fromstring(out.read_text()).tag.endswith("svg")


def test_a_log_is_drawn_with_its_steps(tmp_path: Path):
    log, out = tmp_path / "train.log", tmp_path / "run.svg"
    log.write_text("".join(f"[2026-01-11 10:{n:02}:00] step {n}/60 loss=0.{n}\n" for n in range(60)))
    assert CliRunner().invoke(hangtop, ["timeline", str(log), "-o", str(out)]).exit_code == 0
    assert "polyline" in out.read_text()


def test_without_a_place_it_is_printed_in_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "100")
    answer = CliRunner().invoke(hangtop, ["timeline", str(RECORDINGS / "stalled.jsonl")])
    assert answer.exit_code == 0
    lines = answer.output.splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.startswith("rank 3") for line in lines)
    assert "What happened" in answer.output


def test_in_characters_a_rank_that_waits_and_the_machine_it_is_on_stand_out():
    run = whole_run(rows())
    by_rank = [plain(row) for row in TextTimeline(run, 100).picture()]
    assert next(row for row in by_rank if row.startswith("rank")).startswith("rank 1")
    assert any("w waits" in row for row in by_rank)
    by_host = [plain(row) for row in TextTimeline(run, 100, by_host=True).picture()]
    (host,) = (row for row in by_host if row.startswith("n0"))
    assert "w" in host
    assert "─" not in host


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("/nowhere.log", "-o", "x.svg"), "/nowhere.log: No such file"),
        (("{log}", "-o", "x.svg"), "no axis of time"),
        (("{log}", "-o", "x.svg", "--theme", "ansi"), "no theme 'ansi' for pictures"),
        ((str(RECORDINGS / "healthy.jsonl"), "-o", "/nowhere/x.svg"), "/nowhere/x.svg: No such file"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(words, said, tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text("no time here\n")
    answer = CliRunner().invoke(hangtop, ["timeline", *(word.format(log=log) for word in words)])
    assert answer.exit_code == 2
    assert said in answer.stderr
    assert answer.stderr.count("\n") == 1
