"""A recording glimpsed at for a picture: what comes by the clock is thinned, all else is there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hangtop.feeds.glimpses import Glimpses
from hangtop.feeds.replay import RecordingError, recording_of

RECORDINGS = Path(__file__).parent.parent / "recordings"


@pytest.mark.parametrize("name", ["stalled", "fleet_hung", "fleet_driver"])
def test_only_what_comes_by_the_clock_is_thinned(name):
    data = (RECORDINGS / f"{name}.jsonl").read_bytes()
    whole = [reading for reading in recording_of(data, name).readings() if reading is not None]
    seen = Glimpses(data, name)
    assert seen.span == (whole[0].at, max(reading.at for reading in whole[-2:]))
    assert list(seen.readings(0.0)) == whole
    all_of, few = (Counter(type(reading.value).__name__ for reading in some) for some in (whole, seen.readings(1e9)))
    assert few["LogReading"] == all_of["LogReading"]
    assert few["ProcessReading"] == len({reading.host for reading in whole if type(reading.value).__name__ == "ProcessReading"})


def test_a_line_that_is_cut_short_ends_it_no_earlier_than_the_line_before():
    data = (RECORDINGS / "stalled.jsonl").read_bytes()
    whole = recording_of(data, "stalled")
    assert Glimpses(data[:-40], "cut").span[1] == pytest.approx(whole.times[-1], abs=2)


@pytest.mark.parametrize("data", [b"", b"no recording\n", b'{"file":"hangtop","schema":1,"version":"0","at":1.0,"spec":{}}\n'])
def test_what_is_no_recording_is_said(data):
    with pytest.raises(RecordingError):
        Glimpses(data, "file")
