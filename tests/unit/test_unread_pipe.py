"""What of a pipe was not read is told wherever the log is."""

from __future__ import annotations

from hangtop.cli.commands.check import notes
from hangtop.diagnosis.check_report import report
from hangtop.diagnosis.judge import judge
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.log import LogFile, LogReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.log.log_rows import head_summary
from hangtop.render.log.log_view_model import LogViewModel
from hangtop.render.view import CALM, View
from hangtop.state.run_state import RunState, fold
from tests.fakes.views import plain

SAID = "1.2 G not kept: it came faster than it was read"
SPEC = WatchSpec(logs=("-",))


def state_of(not_kept: str | None) -> RunState:
    log = LogReading((LogFile("-", size_bytes=5, not_kept=not_kept),), caught_up=True, last_line="step 1", last_output_at=99.0)
    state = fold(RunState(), Reading("log", "n1", 100.0, log))
    return fold(state, Reading("probe", "n1", 100.0, Heartbeat((SourceHealth("log", 100.0),))))


def test_the_pane_the_notes_and_the_report_say_it():
    state = state_of(SAID)
    snapshot = take_snapshot(state, SPEC, 100.0)
    verdict = judge(snapshot)
    assert verdict.word == "running"
    assert f"  ! -: {SAID}" in notes(snapshot, verdict)
    assert report(snapshot, verdict).sources["log"].problem == SAID
    assert report(snapshot, verdict).sources["log"].ok
    view = View(state, verdict, SPEC, 100.0, "stdin", CALM)
    assert SAID in plain(head_summary(view, LogViewModel(lambda ask: None)))


def test_of_a_file_there_is_nothing_to_say():
    state = state_of(None)
    snapshot = take_snapshot(state, SPEC, 100.0)
    assert notes(snapshot, judge(snapshot)) == []
