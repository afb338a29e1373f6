"""Readings travel as JSON lines and come back equal; anything else is refused in one line."""

from __future__ import annotations

import pytest

from hangtop.records import wire
from hangtop.records.ask import PageAsk, StacksAsk
from hangtop.records.health import Heartbeat, ProbeState, SourceHealth
from hangtop.records.log import Finding, LogFile, LogLine, LogReading, Progress, RankLog
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec

LOG = LogReading(
    files=(LogFile("train.log", size_bytes=10, scanned_bytes=10, lines=1),),
    bytes=10,
    lines=1,
    ranks=(RankLog(3, world=8, step=12, metrics={"loss": 0.5}),),
    tail=(LogLine(0, 0, 1.0, 3, "[rank3]: ", "step 12 loss [0.5]", "progress"),),
    findings=(Finding("cuda.oom", "fatal", "cause", 7, "CUDA out of memory"),),
    progress=Progress(step=12, total=20, metrics={"loss": 0.5}),
)


@pytest.mark.parametrize(
    "value",
    [
        LOG,
        Heartbeat(sources=(SourceHealth("log", read_at=1.0, busy_s=0.2),), pid=7),
        ProbeState(alive=False, restarts=2, problem="the probe was killed by SIGKILL"),
    ],
)
def test_a_reading_comes_back_equal(value: LogReading | Heartbeat | ProbeState) -> None:
    reading = Reading("log", "n1", 1234.5, value)
    line = wire.encode(reading)
    assert line.count(b"\n") == 1
    assert wire.decode_reading(line) == reading


@pytest.mark.parametrize("ask", [PageAsk(3, 0, 100, "on", pattern="oom"), StacksAsk(4, (1, 2))])
def test_an_ask_comes_back_equal(ask: PageAsk | StacksAsk) -> None:
    assert wire.decode_ask(wire.encode(ask)) == ask


def test_a_torn_line_is_refused_with_the_reason() -> None:
    line = wire.encode(Reading("log", "n1", 1.0, LOG))
    with pytest.raises(wire.WireError, match="not a reading of schema 1"):
        wire.decode_reading(line[: len(line) // 2])


def test_a_header_of_another_schema_is_refused() -> None:
    line = wire.encode(wire.Header(99, "9.9", 0.0, WatchSpec()))
    with pytest.raises(wire.WireError, match="recording has schema 99, this hangtop reads 1"):
        wire.decode_header(line)


def test_a_loss_that_is_no_number_survives_the_wire() -> None:
    reading = Reading("log", "n1", 1.0, LogReading(files=(), progress=Progress(metrics={"loss": None, "lr": 0.1})))
    assert wire.decode_reading(wire.encode(reading)) == reading


def test_a_kind_of_reading_that_nobody_knows_is_refused_by_its_name() -> None:
    line = wire.encode(Reading("log", "n1", 1.0, LOG)).replace(b'"type":"log"', b'"type":"weather"')
    with pytest.raises(wire.WireError, match="there is no kind 'weather'"):
        wire.decode_reading(line)
