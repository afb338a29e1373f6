"""The recorder process: appends the readings that come on its stdin to a recording, without secrets, for its owner only. One that
is full goes on in a new part.

On a dead disk it hangs alone."""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import msgspec

from hangtop.common.secrets.redactor import Redactor
from hangtop.feeds.parts import PART_BYTES, make_room, older
from hangtop.feeds.replay import lines_of
from hangtop.records import wire

CHUNK_BYTES = 1 << 20
MOST_CHUNKS = 64
"""So much is read ahead: when hangtop quits, its last readings are out of its hands at once."""
HEADER_BYTES = 4 << 20
"""Within so many bytes the first line of a recording ends."""


def record(path: Path, lines: Iterator[bytes], ready: Callable[[], object], part_bytes: int = PART_BYTES) -> str | None:
    """Append to the file, which is for one hangtop at a time: two streams in it would break each other. Each part begins with the
    first line, which is the header. Returns why it cannot."""
    header: bytes | None = None
    while True:
        with open(path, "ab", opener=_for_its_owner) as file:
            if not _held(file.fileno()):
                return f"cannot record to {path}: another hangtop records to it; choose another name"
            if header is None:
                ready()
                header = next(lines, b"")
            if not _is_filled(file, chain(filter(None, (header,)), lines), part_bytes):
                return None
            if problem := refusal(path):
                return problem
            make_room(path)


def _held(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def _is_filled(file: BinaryIO, lines: Iterator[bytes], part_bytes: int) -> bool:
    """Write a stream into this part, until it is full or nothing is left. Returns whether it is full."""
    packer, redactor = zlib.compressobj(level=1, wbits=zlib.MAX_WBITS | 16), Redactor()  # gzip
    for line in lines:
        file.write(packer.compress(_without_secrets(line, redactor)) + packer.flush(zlib.Z_SYNC_FLUSH))
        file.flush()
        if file.tell() > part_bytes:
            break
    else:
        file.write(packer.flush())
        return False
    file.write(packer.flush())
    return True


def _lines() -> Iterator[bytes]:
    """The whole lines of stdin, which is read by another thread meanwhile."""
    chunks = queue.Queue[bytes](MOST_CHUNKS)
    threading.Thread(target=_read_ahead, args=(chunks,), daemon=True).start()
    rest = b""
    while chunk := chunks.get():
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _read_ahead(chunks: queue.Queue[bytes]) -> None:
    """Chunk after chunk, the last one empty."""
    chunk = b"?"
    while chunk:
        chunk = os.read(sys.stdin.fileno(), CHUNK_BYTES)
        chunks.put(chunk)


def _for_its_owner(path: str, flags: int) -> int:
    """A recording tells command lines, paths and addresses: others on the machine need not read it. One that was there before is
    closed to them too, where it may be."""
    fd = os.open(path, flags, 0o600)
    with contextlib.suppress(OSError):
        os.fchmod(fd, 0o600)
    return fd


def _without_secrets(line: bytes, redactor: Redactor) -> bytes:
    return msgspec.json.encode(redactor.tree(msgspec.json.decode(line))) + b"\n"


def refusal(path: Path) -> str | None:
    """Why this file, or where its parts will be, must not be written: it exists and is no recording. `None` if it may."""
    return next(filter(None, map(_refusal, (path, *older(path)))), None)


def _refusal(path: Path) -> str | None:
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return None
    if not path.is_file():
        return f"cannot record to {path}: it is not a regular file"
    with path.open("rb") as file:
        try:
            wire.decode_header(next(lines_of(file.read(HEADER_BYTES)), b""))
        except wire.WireError:
            return f"cannot record to {path}: it exists and is not a hangtop recording; choose another name"
    return None


def main() -> None:
    path = Path(sys.argv[1])
    try:
        problem = refusal(path) or record(path, _lines(), lambda: os.write(sys.stdout.fileno(), b"ready\n"))
    except OSError as error:
        problem = f"cannot record: {error.strerror}: {path}"
    if problem is not None:
        os.write(sys.stdout.fileno(), problem.encode() + b"\n")


if __name__ == "__main__":
    main()
