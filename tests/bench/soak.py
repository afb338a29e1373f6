"""A day of a run before hangtop's eyes, in a few minutes: what is left in memory, descriptors and threads after it, how long its
recording is, and whether each change of the verdict was seen.

Log, files and readings are real; clock and times are those of the run. It is rotated each hour, stands twice, and starts again
once.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import psutil

from hangtop.common import clock
from hangtop.feeds.recording import Recorder
from hangtop.monitor.monitor import Monitor
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.reading import Reading
from hangtop.records.verdict import VerdictWord
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from tests.bench.options import Options
from tests.bench.row import MIB, Row
from tests.fakes.log_session import Session

BEGAN = 1_768_000_000.0
HOUR_S = 3_600
DAY_S = 24 * HOUR_S
STEP_S, LOOK_S = 10, 30
STANDS = (range(6 * HOUR_S, 6 * HOUR_S + 1_200), range(18 * HOUR_S, 18 * HOUR_S + 1_200))
AGAIN_AT = 12 * HOUR_S
WARM_S = 6 * HOUR_S
"""Memory is compared with that after six hours: until then buffers fill."""
CHANGES: tuple[VerdictWord, ...] = ("running", "stalled", "running", "stalled", "running")
MOST_DRIFT_MIB = 2.0
MOST_RECORDING_MIB = 64.0


def rows(options: Options) -> Iterator[Row]:
    seen: list[VerdictWord] = []
    moment = [BEGAN]

    def run_clock() -> float:  # a Mock would keep each of its calls
        return moment[0]

    with TemporaryDirectory() as folder, mock.patch.object(clock, "now", run_clock):
        log, kept = Path(folder, "train.log"), Path(folder, "day.hangtop")
        log.touch()
        session = Session(log)
        recorder, monitor = Recorder(kept, WatchSpec(logs=(str(log),))), Monitor(session.spec)
        warm = end = (0, 0, 0)
        for at in range(0, DAY_S + 1, LOOK_S):
            moment[0] = BEGAN + at
            _written(log, at)
            _look(session, recorder, monitor, seen)
            if at == WARM_S:
                warm = _held()
        end = _held()
        session.source.close()
        recorder.close()
        recorded = kept.stat().st_size
    yield Row("memory after a day, beside that after six hours", (end[0] - warm[0]) / MIB, "MiB", MOST_DRIFT_MIB)
    yield Row("descriptors more than after six hours", end[1] - warm[1], "", 0)
    yield Row("threads more than after six hours", end[2] - warm[2], "", 0)
    yield Row("its recording", recorded / MIB, "MiB", MOST_RECORDING_MIB)
    yield Row("changes of the verdict that were missed or made up", abs(len(seen) - len(CHANGES)) + _wrong(seen), "", 0)


def _written(log: Path, at: int) -> None:
    """What the run writes in the seconds up to this one, and the rotations: by rename and by copytruncate in turn."""
    if at and at % HOUR_S == 0:
        older = log.with_name("train.log.1")
        if at // HOUR_S % 2:
            log.rename(older)
        else:
            older.write_bytes(log.read_bytes())
            os.truncate(log, 0)
    began = AGAIN_AT if at >= AGAIN_AT else 0
    lines = [_line(second, began) for second in range(at - LOOK_S, at, STEP_S) if second >= 0 and not _stands(second)]
    if lines:
        with log.open("a") as file:
            file.write("".join(lines))
        os.utime(log, (BEGAN + at,) * 2)


def _stands(second: int) -> bool:
    return any(second in pause for pause in STANDS)


def _line(second: int, began: int) -> str:
    step = (second - began) // STEP_S
    return f"[rank0]: step {step}/100000 loss {2 + (second % 700) / 1_000:.3f} grad_norm {1 + second % 7}\n"


def _look(session: Session, recorder: Recorder, monitor: Monitor, seen: list[VerdictWord]) -> None:
    at = clock.now()
    for value in session.read():
        recorder.write(Reading("log", "here", at, value))
    session.readings.clear()
    beat = Reading("probe", "here", at, Heartbeat((SourceHealth("log", read_at=at),)))
    recorder.write(beat)
    session.state = fold(session.state or RunState(), beat)
    monitor.look(session.state, at)
    if monitor.verdict is not None and (not seen or seen[-1] != monitor.verdict.word):
        seen.append(monitor.verdict.word)


def _wrong(seen: list[VerdictWord]) -> int:
    return sum(said != wanted for said, wanted in zip(seen, CHANGES, strict=False))


def _held() -> tuple[int, int, int]:
    """Bytes of memory, descriptors, threads."""
    gc.collect()
    return psutil.Process().memory_info().rss, len(os.listdir("/proc/self/fd")), threading.active_count()
