"""How long a run that its guard was asked to end is taken to be ending."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from hangtop.common import clock
from hangtop.diagnosis.judge import judge
from hangtop.diagnosis.snapshot import Snapshot, take_snapshot
from hangtop.guard.end_on_request import EndOnRequest
from hangtop.records.log import LogFile, LogReading, Progress
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from hangtop.system.stores.stop_store import StopStore

BEGAN = 1_768_000_000.0


def seen(log: Path, step: int, after_s: float, silence_s: float = 1.0) -> Snapshot:
    """The run at that step, so long after the request."""
    told = LogReading(
        files=(LogFile(str(log)),),
        caught_up=True,
        progress=Progress(step=step, total=100),
        last_output_at=BEGAN + after_s - silence_s,
    )
    return take_snapshot(RunState(log=told), WatchSpec(logs=(str(log),)), BEGAN + after_s)


@pytest.mark.parametrize(
    ("step", "after_s", "silence_s", "is_ending"),
    [
        (9, 5.0, 1.0, True),
        (11, 900.0, 1.0, True),
        (14, 20.0, 1.0, False),
        (9, 100.0, 100.0, True),
        (9, 4000.0, 4000.0, False),
    ],
    ids=["just asked", "saves for long, and says so", "trains on", "quiet, as its stage may be", "silent for too long"],
)
def test_a_run_is_ending_until_it_trains_on_or_is_silent_for_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, after_s: float, silence_s: float, *, is_ending: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(clock, "now", lambda: BEGAN)
    log = tmp_path / "train.log"
    log.write_text("step 9/100\n")
    request = EndOnRequest(str(log), lambda: False)
    first = seen(log, 9, 0.0)
    request.look(first, judge(first))
    request.asked(signal.SIGTERM)
    later = seen(log, step, after_s, silence_s)
    request.look(later, judge(later))
    assert (StopStore().latest([str(log)]) is not None) is is_ending
