"""The log source: all logs of the run, as one reading."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hangtop.common.clean_text import clean_text, decode, encoding_of
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.tail import open_log
from hangtop.probe.source import Absent, Source
from hangtop.records.log import LogFile, LogLine, LogReading
from hangtop.system.files.read_errors import shown

if TYPE_CHECKING:
    from hangtop.probe.log.run_logs import RunLogs

POLL_S = 0.1
GLIMPSE_BYTES = 32 << 10
GLIMPSE_LINES = 100


class LogSource(Source):
    """Follows every log. Its first reading is only the last lines as they stand, because loading what is known of frameworks and
    messages takes longer than a person likes to wait for the first picture."""

    def __init__(self, context: ProbeContext) -> None:
        if not context.spec.logs:
            raise Absent("no log to watch: hangtop --log FILE")
        self._context = context
        self._logs: RunLogs | None = None

    @property
    def interval_s(self) -> float:
        return POLL_S if self._logs is None else self._logs.interval_s

    def read(self, now: float) -> Iterator[LogReading]:
        if self._logs is None:
            yield from quick_tail(self._context.spec.logs)
            from hangtop.probe.log.run_logs import RunLogs

            self._logs = RunLogs(self._context)
        yield from self._logs.read(now)

    def close(self) -> None:
        if self._logs is not None:
            self._logs.close()


def quick_tail(asked: Sequence[str]) -> Iterator[LogReading]:
    """The last lines of a log, cleaned but not parsed: something to look at within a few milliseconds. One reading, if a single
    plain file is asked for and can be read; errors are told by `RunLogs`."""
    if len(asked) != 1:
        return
    try:
        fd = open_log(asked[0])
    except OSError:
        return
    try:
        found = os.fstat(fd)
        start = max(0, found.st_size - GLIMPSE_BYTES)
        data = os.pread(fd, GLIMPSE_BYTES, start)
        utf8 = encoding_of(os.pread(fd, 2, 0)) == "utf-8"
    except OSError:
        return
    finally:
        os.close(fd)
    lines = tuple(_lines(data, start)) if utf8 else ()
    if lines:
        file = LogFile(path=shown(asked[0]), size_bytes=found.st_size, modified_at=found.st_mtime)
        yield LogReading(
            (file,),
            caught_up=False,
            scanned_part=0.0,
            last_output_at=found.st_mtime,
            last_line=lines[-1].text,
            tail=lines[-GLIMPSE_LINES:],
            fresh=True,
        )


def _lines(data: bytes, start: int) -> Iterator[LogLine]:
    """The last piece of each whole row in `data` that is not empty."""
    at = data.find(b"\n") + 1 if start else 0
    for row in data[at:].split(b"\n"):
        piece = row.rstrip(b"\r ")
        begin = piece.rfind(b"\r") + 1
        if piece[begin:]:
            yield LogLine(0, start + at + begin, None, None, "", clean_text(decode(piece[begin:])))
        at += len(row) + 1
