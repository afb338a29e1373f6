"""One file followed by its name, as `tail -F` does: its end first, then what is added, whatever happens to the file.

Never mmap: a file that is truncated while mapped kills the process (python/cpython#148650). Never inotify for the bytes: it does
not see what other NFS clients write. A poll costs a few microseconds: `stat` of the path and of the open file, and when that has
changed, `pread` of the new bytes, of those before them and of the first ones. If these differ from what stood there, the file was
rewritten, even if it is longer now (copytruncate that regrew); the size alone would not tell.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from hangtop.common.clean_text import encoding_of
from hangtop.probe.log.discover import rotated_from
from hangtop.records.log import FileStatus
from hangtop.system.files.read_errors import NotALog, ReadError, in_words, shown

CHUNK_BYTES = 1 << 20
LEAST_BYTES = 4 << 10
"""Buffer of a read where `stat` shows nothing new: a network file system may have more. To allocate a whole chunk ten times a
second would be most of the cost of a quiet log."""
TAIL_BYTES = 256 << 10
MOST_TAIL_BYTES = 8 << 20
CHUNKS_A_POLL = 8
FINGERPRINT_BYTES = 64
REOPEN_S = 5.0
JUST_NOW_S = 5.0
TICK_S = 1.0
"""File times have the resolution of a kernel tick: after this long, a second change would show."""

Why = Literal["first", "appeared", "truncated", "rewritten", "rotated", "replaced", "switched"]


class Opened(Struct, frozen=True):
    """The file was opened, or starts over: what was known of its content is void. Reading goes on at byte `start`, a line start
    near its end; older bytes can be had with `pread`. `rotated`: the same run goes on; its old file was read to the end, or was
    copied."""

    why: Why
    start: int


class Appended(Struct, frozen=True):
    """Bytes of the file from `offset` on. `live`: they were written just now."""

    offset: int
    data: bytes
    live: bool


class Skipped(Struct, frozen=True):
    """Bytes were lost; reading goes on at byte `start`, the start of a line."""

    start: int


Event = Opened | Appended | Skipped | ReadError


class Former(Struct, frozen=True):
    """The open file that was followed before, read up to `size_bytes`. `successor_bytes`: what stood then in the one that took
    its place."""

    fd: int
    size_bytes: int
    successor_bytes: int


class Followed:
    """One file. All calls from one thread. `offset` is the byte after the last one read."""

    start = 0
    not_kept: str | None = None
    drain: int | None = None
    buffer: None = None
    """As of a pipe: a file can be opened again and read from its start, nothing of it is lost, and no process must read on."""

    def __init__(self, path: str, *, network: bool = False, tail_bytes: int = TAIL_BYTES) -> None:
        """`network`: it lies on a network file system. `tail_bytes`: how far before the end to begin."""
        self.path = path
        self._tail_bytes = tail_bytes
        self.status: FileStatus = "waiting"
        self.problem: str | None = None
        self.size_bytes = 0
        self.modified_at: float | None = None
        self.offset = 0
        self._network = network
        self._fd: int | None = None
        self._former: Former | None = None
        self._left: os.stat_result | None = None
        self._opened_at = 0.0
        self._identity = (0, 0)
        self._real = ""
        self._live_from = 0
        self._before = b""
        self._head = b""
        self._settled: tuple[int, int, int] | None = None
        self._next_why: Why = "first"

    def poll(self, now: float) -> Iterator[Event]:
        """What happened since the last poll, in order: at most `CHUNKS_A_POLL` chunks, the rest comes with the next poll."""
        try:
            if self._fd is None:
                yield self._open(self._next_why, now)
            successor, fault = self._look_at_path(now)
            yield from self._grown(now)
            if successor is not None and self._fd is not None and self.offset >= os.fstat(self._fd).st_size:
                yield from self._go_over(successor, now)
            elif self._former is not None and self._fd is not None:
                yield from self._go_back(self._former, self._fd, now)
            yield from self._noted(fault)
        except OSError as error:
            self.close()
            self._next_why = "appeared" if error.errno == errno.ENOENT else "first"
            yield from self._noted(in_words(self.path, error))

    def pread(self, count: int, offset: int) -> bytes:
        """Older bytes of the open file; fewer or none when it has shrunk or is not open. Raises `OSError`."""
        return b"" if self._fd is None else os.pread(self._fd, count, offset)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
        self._fd = None
        self._forget_former()

    def _forget_former(self) -> None:
        if self._former is not None:
            os.close(self._former.fd)
        self._former = None

    def _go_over(self, successor: os.stat_result, now: float) -> Iterator[Event]:
        """Follow the file that took the place of this one, which is at its end; keep this one: its writer may still have it."""
        why = self._why_replaced()
        kept, self._fd = self._fd, None
        assert kept is not None
        self.close()
        if why == "switched":
            os.close(kept)
        else:
            self._former = Former(kept, self.offset, successor.st_size)
        yield self._open(why, now)
        yield from self._grown(now)

    def _go_back(self, former: Former, fd: int, now: float) -> Iterator[Event]:
        """Follow the file of before again, if the run goes on writing that one, and nobody the one that took its place."""
        if os.fstat(fd).st_size != former.successor_bytes:
            self._forget_former()
        elif (found := os.fstat(former.fd)).st_size > former.size_bytes:
            os.close(fd)
            self._fd, self._former, self._identity = former.fd, None, (found.st_dev, found.st_ino)
            yield self._begin("switched", now)
            yield from self._grown(now)

    def _open(self, why: Why, now: float) -> Opened:
        fd = open_log(self.path)
        self._fd, self._opened_at = fd, now
        found = os.fstat(fd)
        self._identity = (found.st_dev, found.st_ino)
        self._real = os.path.realpath(self.path)
        return self._begin(why, now)

    def _begin(self, why: Why, now: float) -> Opened:
        """Start over in the open file, near its end. Bytes written just now into a file that we followed already are live."""
        assert self._fd is not None
        found = os.fstat(self._fd)
        self.size_bytes, self.modified_at = found.st_size, found.st_mtime
        just_written = why not in ("first", "switched") and abs(now - found.st_mtime) < JUST_NOW_S
        live = just_written and found.st_size <= MOST_TAIL_BYTES
        self.offset = 0 if live else tail_start(self._fd, found.st_size, self._tail_bytes)
        self._live_from = 0 if live else found.st_size
        self._before = os.pread(self._fd, min(FINGERPRINT_BYTES, self.offset), max(0, self.offset - FINGERPRINT_BYTES))
        self._head = os.pread(self._fd, FINGERPRINT_BYTES, 0)
        self._settled = self._left = None
        return Opened(why, self.offset)

    def _grown(self, now: float) -> Iterator[Event]:
        assert self._fd is not None
        for _ in range(CHUNKS_A_POLL):
            found = os.fstat(self._fd)
            if _marks(found) == self._settled:
                return
            known = len(self._before)
            due = min(CHUNK_BYTES, max(LEAST_BYTES, found.st_size - self.offset))
            new = os.pread(self._fd, due, self.offset)
            before = os.pread(self._fd, known, self.offset - known)  # after the bytes, so that it shows what became of them
            head = os.pread(self._fd, FINGERPRINT_BYTES, 0)
            if before != self._before or head[: len(self._head)] != self._head:
                why: Why = "truncated" if len(before) < known else "rewritten"
                rest = self._rest_in_copy()
                if rest:
                    yield Appended(self.offset, rest, live=True)
                yield self._begin(why if rest is None else "rotated", now)
                continue
            if self.offset < self._live_from:
                new = new[: self._live_from - self.offset]
            if not new:
                break
            at = self.offset
            self.offset += len(new)
            self._before = (self._before + new[-FINGERPRINT_BYTES:])[-FINGERPRINT_BYTES:]
            self._head = head
            yield Appended(at, new, live=at >= self._live_from)
        found = os.fstat(self._fd)
        self.size_bytes, self.modified_at = max(found.st_size, self.offset), found.st_mtime
        read_to_its_end = found.st_size == self.offset > 0 and now - found.st_mtime > TICK_S
        self._settled = _marks(found) if read_to_its_end and not self._network else None

    def _rest_in_copy(self) -> bytes | None:
        """What a rotated copy beside the file holds behind the bytes read last; `None` where no copy holds these. With one it was
        logrotate's copytruncate, no new run, and what was written just before it is there only."""
        folder, name = os.path.split(self.path)
        known = len(self._before)
        if not known:
            return None
        try:
            with os.scandir(folder or ".") as beside:
                copies = [each.path for each in beside if rotated_from(each.name) == name]
            held = (_behind(path, self._before, self.offset - known) for path in copies)
            return next((rest for rest in held if rest is not None), None)
        except OSError:  # what cannot be read proves nothing
            return None

    def _look_at_path(self, now: float) -> tuple[os.stat_result | None, ReadError | None]:
        """Another file at the path, or why there is none. A successor that is empty, or older than what was written last into
        this one and does not grow, is left alone: until the writer has reopened its log, it still writes into the old one."""
        try:
            found = os.stat(self.path)
            if (found.st_dev, found.st_ino) != self._identity:
                return (found, None) if found.st_size and self._is_later(found) else (None, self._left_alone(found))
            if self._network and now - self._opened_at >= REOPEN_S:
                self._reopen(now)
        except FileNotFoundError:
            return None, ReadError("gone", f"{shown(self.path)}: deleted or moved; waiting for it to come back (read on if open)")
        except OSError as error:
            return None, in_words(self.path, error)
        return None, None

    def _is_later(self, successor: os.stat_result) -> bool:
        """By the clock of the files, which may have been set back meanwhile: then by its bytes."""
        assert self._fd is not None
        before, self._left = self._left, successor
        if before is not None and before.st_ino == successor.st_ino and before.st_size != successor.st_size:
            return True
        return os.path.realpath(self.path) != self._real or successor.st_mtime_ns >= os.fstat(self._fd).st_mtime_ns

    def _left_alone(self, successor: os.stat_result) -> ReadError | None:
        if not successor.st_size:
            return None
        said = "another file is in its place; what is written into the one that was there is read on"
        return ReadError("gone", f"{shown(self.path)}: {said}")

    def _reopen(self, now: float) -> None:
        """Open the file again: only then a network file system must show fresh sizes and bytes (close-to-open consistency)."""
        fresh = open_log(self.path)
        found = os.fstat(fresh)
        if (found.st_dev, found.st_ino) != self._identity:
            os.close(fresh)  # replaced this very moment: the next poll sees it
            return
        self.close()
        self._fd, self._opened_at = fresh, now

    def _why_replaced(self) -> Why:
        assert self._fd is not None
        if os.path.realpath(self.path) != self._real:
            return "switched"
        return "rotated" if os.fstat(self._fd).st_nlink else "replaced"

    def _noted(self, fault: ReadError | None) -> Iterator[Event]:
        """Tell an error when it begins or changes."""
        before = self.problem
        self.status = fault.status if fault else "ok"
        self.problem = fault.problem if fault else None
        if fault and fault.problem != before:
            yield fault


def _marks(found: os.stat_result) -> tuple[int, int, int]:
    """On a local file system no byte of a file changes without one of these."""
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def open_log(path: str) -> int:
    """An open file descriptor for reading. Raises `OSError`; `NotALog` for what can never be one. Never waits for a writer."""
    mode = os.stat(path).st_mode  # before the open: to open a device or a pipe already does something
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise NotALog("a device or socket, not a log file: give the file that the run writes, or pipe it: … | hangtop --log -")
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _behind(path: str, data: bytes, offset: int) -> bytes | None:
    """Up to a chunk of what this file holds behind `data`, if that stands at `offset`."""
    fd = open_log(path)
    try:
        found = os.pread(fd, len(data) + CHUNK_BYTES, offset)
        return found[len(data) :] if found.startswith(data) else None
    finally:
        os.close(fd)


def tail_start(fd: int, size: int, tail_bytes: int = TAIL_BYTES) -> int:
    """Where to begin reading for the last lines: after a line break `tail_bytes` before the end, or earlier where lines are
    longer. A file without line breaks (one endless progress bar) begins after a `\\r`, else inside its line. A file in UTF-16 is
    read from its first byte, which tells the encoding."""
    span = size if encoding_of(os.pread(fd, 2, 0)) != "utf-8" else tail_bytes
    while span < size:
        data = os.pread(fd, span, size - span)
        broken = data.find(b"\n", 0, -1)
        if broken < 0 and span >= MOST_TAIL_BYTES:
            broken = data.find(b"\r", 0, -1)
        if broken >= 0 or span >= MOST_TAIL_BYTES:
            return size - span + broken + 1
        span *= 2
    return 0
