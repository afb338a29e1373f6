"""Rows of a file (what ends at `\\n`) from any byte on, forwards or backwards, in blocks of whole rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol

from hangtop.logs.lines.split import Block
from hangtop.probe.log.tail import CHUNK_BYTES

LONGEST_ROW = 8 << 20
"""A longer row is cut by force."""


class Readable(Protocol):
    """Bytes `start` to `end` of a file or buffer."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    def pread(self, count: int, offset: int) -> bytes: ...


class OpenLogFile:
    """A file, opened for one answer."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.start = 0
        self.end = os.fstat(fd).st_size

    def pread(self, count: int, offset: int) -> bytes:
        return os.pread(self.fd, max(0, min(count, self.end - offset)), offset)


def blocks_on(file: Readable, offset: int) -> Iterator[Block]:
    """The rows that start at or after `offset`. A byte after a `\\r` counts as a start: a state of a progress bar."""
    at = _next_start(file, min(max(offset, file.start), file.end))
    size = CHUNK_BYTES
    while at < file.end:
        data = _read(file, size, at)
        cut = len(data) if at + len(data) >= file.end else data.rfind(b"\n") + 1
        if not data:
            return
        if not cut and size < LONGEST_ROW:
            size *= 2
            continue
        yield Block(data[: cut or len(data)], at)
        at += cut or len(data)
        size = CHUNK_BYTES


def blocks_back(file: Readable, offset: int) -> Iterator[Block]:
    """The rows that end at or before `offset`, the last block first."""
    end = _last_end(file, min(offset, file.end))
    size = CHUNK_BYTES
    while end > file.start:
        begin = max(file.start, end - size)
        data = _read(file, end - begin, begin)
        if len(data) < end - begin:
            return
        cut = 0 if begin == 0 else data.find(b"\n", 0, -1) + 1
        if not cut and begin > file.start and size < LONGEST_ROW:
            size *= 2
            continue
        yield Block(data[cut:], begin + cut)
        end = begin + cut
        size = CHUNK_BYTES


def _read(file: Readable, count: int, offset: int) -> bytes:
    """Bytes of the file, each NUL as the line end that it is (`hangtop.logs.lines.split`)."""
    return file.pread(count, offset).replace(b"\0", b"\n")


def _next_start(file: Readable, offset: int) -> int:
    """The first row start at or after `offset`."""
    if offset <= file.start:
        return offset
    if _read(file, 1, offset - 1) in (b"\n", b"\r"):
        return offset
    while offset < file.end:
        data = _read(file, CHUNK_BYTES, offset)
        found = data.find(b"\n")
        if found >= 0:
            return offset + found + 1
        if not data:
            break
        offset += len(data)
    return file.end


def _last_end(file: Readable, offset: int) -> int:
    """The last row end at or before `offset`; the end of the file counts as one."""
    if offset >= file.end:
        return file.end
    while offset > file.start:
        begin = max(file.start, offset - CHUNK_BYTES)
        found = _read(file, offset - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        offset = begin
    return file.start
