"""The files that a query names, as tables: recordings of hangtop, or logs."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from hangtop.common.text import some
from hangtop.feeds import parts
from hangtop.feeds.glimpses import Glimpses
from hangtop.feeds.parts import read_parts
from hangtop.feeds.replay import Recording, RecordingError, load, recording_of
from hangtop.logs.digest import Digest
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.joined_logs import join_logs
from hangtop.logs.lines.timestamps import LogClock, date_in, without_tail
from hangtop.query import from_logs
from hangtop.query.database import Database, QueryError
from hangtop.query.from_readings import LOOK_EVERY_S, RecordedRows, finding_row, stage_rows
from hangtop.query.sampled_steps import sampled_steps
from hangtop.query.tables import Line, Metric, Row, Step
from hangtop.query.whole_run import BINS
from hangtop.records.log import LogFile
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec

PIECE_BYTES = 1 << 20
MOST_LOOKS = 1_000
PICTURE_LOOKS = BINS * 5 // 4
"""Enough for each column of a picture; what a look costs is to judge."""
LIVE = "live"
"""What the run that is watched is called in the tables."""


def add_runs(
    database: Database,
    paths: Sequence[Path],
    sql: str,
    index: LiteralIndex,
    clock_shift_s: float | None,
    most_looks: int | None = None,
) -> list[str]:
    """Fill the tables that this query may ask, from these files. What could not be read of them, a line each. `most_looks`: so
    often a recording is judged again at most. Raises `QueryError` for a file that cannot be read at all."""
    notes: list[str] = []
    paths = parts.wholes(paths)
    for path, run in zip(paths, run_names(paths), strict=True):
        try:
            if is_recording(path):
                notes += _add_recording(database, path, run, most_looks)
            else:
                notes += _add_log(database, path, run, sql, index, clock_shift_s)
        except OSError as error:
            raise QueryError(f"{path}: {error.strerror}") from error
        except RecordingError as error:
            raise QueryError(str(error)) from error
    return notes


def run_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """What each file is called in the tables: its name, or its path where two have the same name."""
    names = Counter(path.name for path in paths)
    return tuple(path.name if names[path.name] == 1 else str(path) for path in paths)


def is_recording(path: Path) -> bool:
    """Whether hangtop has recorded this file. Raises `OSError`."""
    with path.open("rb") as file:
        return parts.is_recording(file)


def timeline_rows(path: Path, index: LiteralIndex, clock_shift_s: float | None) -> Iterator[Row]:
    """What a picture of the whole run needs of this file, in some hundred looks however long it is. Raises `OSError`,
    `RecordingError`."""
    if is_recording(path):
        yield from _glimpsed(path.name, Glimpses(read_parts(path), str(path), PICTURE_LOOKS))
    else:
        yield from _digested(path, path.name, index, clock_shift_s)
        yield from _sampled(path, path.name, index, clock_shift_s)


def add_seen(
    database: Database, data: bytes, files: Sequence[Path], sql: str, index: LiteralIndex, clock_shift_s: float | None
) -> Iterator[str]:
    """Fill the tables with what a hangtop has seen, as a recording in memory, under the name `live`. `files`: its logs, which
    tell every line and step, while the recording holds those that were shown. What could not be read, a line each."""
    kept = recording_of(data, "what was seen")
    rows = rows_of(LIVE, kept.header.spec, kept.readings(), _look_every_s(kept))
    told = [path for path in files if path.is_file()]
    database.fill(row for row in rows if not (told and isinstance(row, (Line, Step, Metric))))
    for number, path in enumerate(told):
        try:
            yield from _add_file(database, path, LIVE, sql, index, _live_shift_s(path, index, clock_shift_s), number)
        except OSError as error:
            yield f"{path}: {error.strerror}"


def seen_rows(data: bytes, files: Sequence[Path], index: LiteralIndex, clock_shift_s: float | None) -> Iterator[Row]:
    """As `timeline_rows`, of what a hangtop has seen. Of its logs only the steps are taken."""
    return with_steps_of(files, _glimpsed(LIVE, Glimpses(data, "what was seen", PICTURE_LOOKS)), index, clock_shift_s)


def _glimpsed(run: str, seen: Glimpses) -> Iterator[Row]:
    recorded = RecordedRows(run, seen.header.spec, pictured=True)
    for reading in seen.readings():
        recorded.look_every_s = max(LOOK_EVERY_S, seen.every_s)
        yield from recorded.read(reading)
    yield from recorded.end()


def with_steps_of(files: Sequence[Path], rows: Iterable[Row], index: LiteralIndex, clock_shift_s: float | None) -> Iterator[Row]:
    """These rows, with the steps that the logs tell in place of those that were seen. Raises `OSError`."""
    told = [path for path in files if path.is_file()]
    yield from (row for row in rows if not (told and isinstance(row, Step)))
    for path in told:
        yield from _sampled(path, LIVE, index, _live_shift_s(path, index, clock_shift_s))


def _live_shift_s(path: Path, index: LiteralIndex, clock_shift_s: float | None) -> float | None:
    """What makes unix time of the times in a log that is watched, as its probe does (`probe.log.tracked_log`): its newest line is
    as old as the file. Without a time there, `clock_shift_s`."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        newest = Digest(index, 0, near=_near(file), written_by=status.st_mtime)
        file.seek(max(0, status.st_size - PIECE_BYTES // 16))
        newest.feed(file.read())
        newest.facts()
    if newest.clock.last_log_time is None:
        return clock_shift_s
    shift_s = status.st_mtime - newest.clock.last_log_time
    if any(line.at is not None for line in newest.tail(1)):
        return shift_s
    return without_tail(shift_s, time.localtime(status.st_mtime).tm_gmtoff)


def _look_every_s(recording: Recording, most: int = MOST_LOOKS) -> float:
    return max(LOOK_EVERY_S, (recording.times[-1] - recording.times[0]) / most)


def rows_of(run: str, spec: WatchSpec, readings: Iterable[Reading | None], look_every_s: float = LOOK_EVERY_S) -> Iterator[Row]:
    """All rows of one session."""
    recorded = RecordedRows(run, spec, look_every_s)
    for reading in readings:
        if reading is not None:
            yield from recorded.read(reading)
    yield from recorded.end()


def zone_shift_s() -> float:
    """What makes unix time of times without a zone: they are those of this machine's."""
    offset = datetime.now().astimezone().utcoffset()
    return -offset.total_seconds() if offset is not None else 0.0


def asks_for(sql: str, *tables: str) -> bool:
    """Whether a query may ask one of these tables: what it surely does not is not made."""
    return re.search(rf"(?i)\b(?:{'|'.join(tables)})\b", sql) is not None


def _add_recording(database: Database, path: Path, run: str, most_looks: int | None) -> Iterator[str]:
    recording: Recording = load(path)
    look_every_s = LOOK_EVERY_S if most_looks is None else _look_every_s(recording, most_looks)
    database.fill(rows_of(run, recording.header.spec, recording.readings(), look_every_s))
    if recording.torn:
        yield f"{run}: left out: {some(recording.torn, 'line')} cut short"


def _add_log(
    database: Database, path: Path, run: str, sql: str, index: LiteralIndex, clock_shift_s: float | None
) -> Iterator[str]:
    yield from _add_file(database, path, run, sql, index, clock_shift_s)
    if asks_for(sql, "stages", "findings"):
        database.fill(_digested(path, run, index, clock_shift_s))


def _add_file(
    database: Database, path: Path, run: str, sql: str, index: LiteralIndex, clock_shift_s: float | None, number: int = 0
) -> Iterator[str]:
    """Its lines, and its steps with their numbers."""
    from_logs.add_lines(database, path, run, number)
    if asks_for(sql, "steps", "metrics"):
        left = from_logs.add_steps(database, path, run, index, clock_shift_s)
        if left.unread:
            yield f"{run}: not in steps and metrics: about {some(left.unread, 'step line')} of rare forms"
        if left.not_text:
            yield f"{run}: left out: {some(left.not_text, 'line')} that are no UTF-8"


def _digested(path: Path, run: str, index: LiteralIndex, clock_shift_s: float | None) -> Iterator[Row]:
    """Stages and findings."""
    with path.open("rb") as file:
        written_by = os.fstat(file.fileno()).st_mtime
        digest = Digest(index, 0, clock_shift_s=clock_shift_s, near=_near(file), written_by=written_by)
        while piece := file.read(PIECE_BYTES):
            digest.feed(piece)
    reading = join_logs([digest.facts()], [LogFile(str(path), size_bytes=digest.bytes)], index.catalog)
    yield from stage_rows(run, reading.stages)
    yield from (finding_row(run, finding) for finding in reading.findings)


def _near(file: BinaryIO) -> float | None:
    """What dates without a year are near to: the first full date in it. It stands at its start then."""
    file.seek(0)
    head = file.read(LogClock.YEAR_WITHIN)
    file.seek(0)
    return date_in(head)


def _sampled(path: Path, run: str, index: LiteralIndex, clock_shift_s: float | None) -> Iterator[Row]:
    """Steps, as many as a picture needs."""
    for seen in sampled_steps(path, index, clock_shift_s):
        yield Step(run, seen.at, seen.rank, seen.step, None, None, seen.counter)
