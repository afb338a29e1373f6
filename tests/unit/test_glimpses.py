"""A recording glimpsed at for a picture: what comes by the clock is thinned, all else is there."""

from __future__ import annotations

import random
import zlib
from itertools import pairwise
from pathlib import Path

import pytest

from hangtop.feeds.glimpses import LOG_EVERY_S, Glimpses
from hangtop.feeds.replay import PIECE_BYTES, RecordingError, lines_of, recording_of
from hangtop.records.log import LogReading
from hangtop.records.process import ProcessReading

RECORDINGS = Path(__file__).parent.parent / "recordings"
CLOCKED = ("log", "procs", "gpu", "host", "checkpoints", "ray")


OFTEN, ONCE = 1e12, 1e-12
"""Looks: so many that nothing is left out, so few that all is that may be."""


def packed(data: bytes) -> bytes:
    """As the recorder writes it."""
    packer = zlib.compressobj(level=1, wbits=zlib.MAX_WBITS | 16)
    return b"".join(packer.compress(line) + packer.flush(zlib.Z_SYNC_FLUSH) for line in data.splitlines(keepends=True))


@pytest.mark.parametrize("name", ["stalled", "fleet_hung", "fleet_driver"])
@pytest.mark.parametrize("written", [bytes, packed])
def test_only_what_comes_by_the_clock_is_thinned_and_the_last_of_the_log_is_there(name, written):
    data = written((RECORDINGS / f"{name}.jsonl").read_bytes())
    whole = [reading for reading in recording_of(data, name).readings() if reading is not None]
    assert list(Glimpses(data, name, OFTEN).readings()) == whole
    few = list(Glimpses(data, name, ONCE).readings())
    assert [each for each in few if each.source not in CLOCKED] == [each for each in whole if each.source not in CLOCKED]
    processes, few_processes = ([each for each in some if isinstance(each.value, ProcessReading)] for some in (whole, few))
    hosts = {reading.host for reading in processes}
    assert len(hosts) <= len(few_processes) <= 2 * len(hosts)  # the first ones tell no time that passed
    logs, few_logs = ([each for each in some if isinstance(each.value, LogReading)] for some in (whole, few))
    assert few_logs[-1] == logs[-1]
    assert all(after.at - before.at >= LOG_EVERY_S for before, after in pairwise(few_logs[:-1]))


def test_how_far_looks_are_apart_is_known_at_the_end():
    data = packed((RECORDINGS / "stalled.jsonl").read_bytes())
    times = recording_of(data, "stalled").times
    seen = Glimpses(data, "stalled", 10.0)
    assert [*seen.readings()]
    assert seen.every_s == pytest.approx((times[-1] - times[0]) / 10.0, rel=0.1)


def test_a_stream_is_read_up_to_the_piece_that_is_broken():
    packer = zlib.compressobj(level=1, wbits=zlib.MAX_WBITS | 16)
    parts = [
        packer.compress(b"%064x\n" % random.Random(nth).getrandbits(256)) + packer.flush(zlib.Z_SYNC_FLUSH) for nth in range(400)
    ]
    before = b"".join(parts[:300])
    there = [*lines_of(before + b"\xff" * 64 + b"".join(parts[300:]))]
    whole = [*lines_of(b"".join(parts))]
    lost = PIECE_BYTES // min(map(len, parts[1:])) + 2
    assert len(whole) == 400
    assert whole[: len(there) - 1] == there[:-1]
    assert 300 - lost <= len(there) <= 300 + 1


@pytest.mark.parametrize("data", [b"", b"no recording\n", b'{"file":"hangtop","schema":1,"version":"0","at":1.0,"spec":{}}\n'])
def test_what_is_no_recording_is_said(data):
    with pytest.raises(RecordingError):
        Glimpses(data, "file", OFTEN)
