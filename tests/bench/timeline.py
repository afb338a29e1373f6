"""The whole run of two days drawn: of a recording of 8 ranks, and of its log."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from hangtop.logs.catalog.load import load
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.query.runs import timeline_rows
from hangtop.query.timeline_svg import TimelineDrawing
from hangtop.query.whole_run import whole_run
from hangtop.records import wire
from hangtop.records.log import LogReading
from hangtop.records.process import ProcessReading
from hangtop.records.reading import Reading
from tests.bench.options import Options
from tests.bench.row import Row

DRAWN_S = 1.0
DAYS, STEP_S, READ_EVERY_S = 2, 3.0, 10.0
RECORDED = Path(__file__).parent.parent / "recordings" / "healthy.jsonl"
BEGIN = datetime(2026, 1, 11, 10)


def rows(options: Options) -> Iterator[Row]:
    index = LiteralIndex(load())
    with TemporaryDirectory() as folder:
        log, recording = Path(folder, "train.log"), Path(folder, "run.hangtop")
        _write(log)
        _record(recording)
        for what, path in (("log", log), ("recording", recording)):
            began, cpu_began = time.perf_counter(), time.process_time()
            run = whole_run(timeline_rows(path, index, 0.0))
            TimelineDrawing(run, path.name, {}, "monospace").svg()
            took_s, cpu_s, days = time.perf_counter() - began, time.process_time() - cpu_began, (run.end - run.begin) / 86_400
            yield Row(f"timeline: {what} of {days:.1f} days, {os.stat(path).st_size / 1e6:.0f} MB, drawn", took_s, "s", DRAWN_S)
            yield Row("the same: CPU", cpu_s, "s", DRAWN_S)


def _write(log: Path) -> None:
    at, steps = BEGIN, int(DAYS * 86_400 / STEP_S)
    with log.open("w") as lines:
        for step in range(steps):
            at += timedelta(seconds=STEP_S)
            lines.writelines(f"[{at:%Y-%m-%d %H:%M:%S}] [rank{rank}] step {step}/{steps} loss=0.5\n" for rank in range(8))


def _record(path: Path) -> None:
    """What hangtop saw in one minute, again and again, with steps that go on; written as `hangtop.feeds.recorder` does."""
    first, *lines = RECORDED.read_bytes().splitlines(keepends=True)
    seen = [reading for line in lines if isinstance((reading := wire.decode_reading(line)).value, LogReading | ProcessReading)]
    log = next(reading.value for reading in seen if isinstance(reading.value, LogReading))
    processes = next(reading for reading in reversed(seen) if isinstance(reading.value, ProcessReading))
    packer = zlib.compressobj(level=1, wbits=zlib.MAX_WBITS | 16)
    with path.open("wb") as file:
        file.write(packer.compress(first))
        for look in range(int(DAYS * 86_400 / READ_EVERY_S)):
            at = BEGIN.timestamp() + READ_EVERY_S * look
            told = replace(log, progress=replace(log.progress, step=look * 3), last_output_at=at, fresh=False, tail=())
            for seen_now in (Reading("log", "n1", at, told), replace(processes, at=at)):
                file.write(packer.compress(wire.encode(seen_now)) + packer.flush(zlib.Z_SYNC_FLUSH))
        file.write(packer.flush())
