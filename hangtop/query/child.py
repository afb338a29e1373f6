"""The child process of the screen that asks, draws and computes: what takes long or much memory is not the screen's to do.

One request on stdin, its data behind it, one answer on stdout. It ends with the question; who asks may end it earlier.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from hangtop.feeds.replay import RecordingError
from hangtop.logs.catalog.load import load
from hangtop.logs.extract.literal_index import LiteralIndex, index_of
from hangtop.query.chart import chart_lines
from hangtop.query.courses import by_rank, courses, metric_by_rank
from hangtop.query.database import Database, QueryError, quoted
from hangtop.query.differences import Runs
from hangtop.query.lateness import lateness
from hangtop.query.requests import (
    LIMIT_S,
    TOO_LONG,
    Asked,
    ChartAsk,
    ChildAnswer,
    Course,
    CoursesAsk,
    DiffAsk,
    SqlAsk,
    TimelineAsk,
)
from hangtop.query.runs import LIVE, MOST_LOOKS, add_runs, add_seen, run_names, seen_rows, zone_shift_s
from hangtop.query.shown import shown
from hangtop.query.tables import TABLES
from hangtop.query.whole_run import NoTimeError, whole_run

MEMORY_BYTES = 2 << 30
"""The run has the machine's memory; what does not fit lies in the folder for temporary files."""
NICE = 10


def answer(ask: Asked, data: bytes, folder: Path) -> ChildAnswer:
    """The answer to one request. `folder`: for files that it needs meanwhile."""
    try:
        match ask:
            case SqlAsk():
                return _table(ask, data, folder)
            case TimelineAsk():
                rows = seen_rows(data, tuple(map(Path, ask.files)), _index(ask.config_dir), zone_shift_s())
                return ChildAnswer(run=whole_run(rows))
            case CoursesAsk():
                return _courses(ask, data, folder)
            case DiffAsk():
                return _differences(ask, data, folder)
            case ChartAsk():
                return ChildAnswer(lines=tuple(chart_lines(ask)))
    except (QueryError, RecordingError, NoTimeError) as error:
        return ChildAnswer(problem=str(error))
    except OSError as error:
        return ChildAnswer(problem=f"{error.filename or 'a file'}: {error.strerror}")


def _table(ask: SqlAsk, data: bytes, folder: Path) -> ChildAnswer:
    with Database(folder, MEMORY_BYTES) as database:
        notes = tuple(add_seen(database, data, tuple(map(Path, ask.files)), ask.sql, _index(ask.config_dir), zone_shift_s()))
        return ChildAnswer(table=shown(*database.select(ask.sql)), notes=notes)


def _courses(ask: CoursesAsk, data: bytes, folder: Path) -> ChildAnswer:
    with Database(folder, MEMORY_BYTES) as database:
        files = tuple(map(Path, ask.files))
        tables, index, shift_s = "steps metrics gpus ranks", _index(ask.config_dir), zone_shift_s()
        notes = [*add_seen(database, data, files, tables, index, shift_s)]
        others: tuple[Course, ...] = ()
        run = quoted(LIVE)
        metric = metric_by_rank(database, run, ask.by_rank) if ask.by_rank else ""
        if ask.other:
            try:
                notes += add_runs(database, (Path(ask.other),), tables, index, shift_s, MOST_LOOKS)
                others = _of_metric(database, quoted(run_names((Path(ask.other),))[0]), metric)
            except QueryError as error:
                notes.append(str(error))
        told, late = _of_metric(database, run, metric), () if metric else lateness(database, run)
        return ChildAnswer(courses=told, others=others, late=late, metric=metric, notes=tuple(notes))


def _of_metric(database: Database, run: str, metric: str) -> tuple[Course, ...]:
    return by_rank(database, run, metric) if metric else courses(database, run)


def _differences(ask: DiffAsk, data: bytes, folder: Path) -> ChildAnswer:
    every, index, shift_s, files = " ".join(TABLES), _index(ask.config_dir), zone_shift_s(), tuple(map(Path, ask.files))
    paths = (Path(ask.good), *((Path(ask.bad),) if ask.bad else ()))
    with Database(folder, MEMORY_BYTES) as database:
        notes = add_runs(database, paths, every, index, shift_s, MOST_LOOKS)
        notes += () if ask.bad else add_seen(database, data, files, every, index, shift_s)
        names = run_names(paths) if ask.bad else (*run_names(paths), LIVE)
        return ChildAnswer(differences=tuple(Runs(database, *names).differences()), notes=tuple(notes))


def _index(config_dir: str | None) -> LiteralIndex:
    """The catalog with the user's own profiles and signatures."""
    return index_of(load(None if config_dir is None else Path(config_dir)))


def main() -> None:
    os.nice(NICE)  # the run comes first
    with TemporaryDirectory(prefix="hangtop-query-") as folder:
        _end_when_told(folder)
        ask = msgspec.json.decode(sys.stdin.buffer.readline(), type=Asked)
        told = answer(ask, sys.stdin.buffer.read(), Path(folder))
    sys.stdout.buffer.write(msgspec.json.encode(told))


def _end_when_told(folder: str) -> None:
    """At SIGTERM, or after `LIMIT_S`, end at once and leave no files. In a thread of its own: a query may take its time in C."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))

    def wait() -> None:
        told = signal.sigtimedwait((signal.SIGTERM,), LIMIT_S)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(TOO_LONG if told is None else 1)

    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    main()
