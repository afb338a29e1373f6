"""The last lines of a log, cleaned but not parsed: something to look at within a few milliseconds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from hangtop.common.clean_text import clean_text, decode, encoding_of
from hangtop.probe.log.tail import open_log
from hangtop.records.log import LogFile, LogLine, LogReading
from hangtop.system.files.read_errors import shown

GLIMPSE_BYTES = 32 << 10
GLIMPSE_LINES = 100


def quick_tail(asked: Sequence[str]) -> Iterator[LogReading]:
    """One reading, if a single plain file is asked for and can be read. Errors are told by `RunLogs`."""
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
