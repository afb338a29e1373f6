"""A pipe is kept: everything that came is handed on once, and the end of it stays readable."""

from __future__ import annotations

import os
import threading
import time

import pytest

from hangtop.sources.spool import KEPT_BYTES, LEAD_BYTES, FollowedPipe, Spool
from hangtop.sources.tail import Appended

LINE = b"%012d\n"


@pytest.fixture
def pipe():
    ours, theirs = os.pipe()
    yield ours, theirs
    for fd in (ours, theirs):
        try:
            os.close(fd)
        except OSError:
            continue  # the test closed it


def test_more_than_is_kept_goes_through_and_its_end_stays(pipe):
    ours, theirs = pipe
    block = b"".join(LINE % n for n in range(100_000))
    turns = 80

    def write() -> None:
        with os.fdopen(theirs, "wb", buffering=0, closefd=False) as file:
            for _ in range(turns):
                file.write(block)
        os.close(theirs)

    spool = Spool(ours)
    followed = FollowedPipe("-", spool)
    threading.Thread(target=write, daemon=True).start()
    size, at = 0, 0
    while followed.status == "ok":
        for event in followed.poll(0.0):
            if isinstance(event, Appended):
                assert event.offset == size
                begin = size % len(block)
                assert event.data[: len(block) - begin] == block[begin : begin + len(event.data)]
                size += len(event.data)
    assert size == turns * len(block) > KEPT_BYTES
    at = spool.start + 5_000_000 - (spool.start + 5_000_000) % len(block)
    assert spool.pread(len(block), at) == block
    assert spool.pread(10, spool.start - 1) == b""
    assert spool.pread(10, size - 3) == block[-3:]
    spool.close()


def test_a_reader_that_lags_makes_the_writer_wait_and_nothing_is_lost(pipe):
    ours, theirs = pipe
    os.set_blocking(theirs, False)
    spool = Spool(ours)
    followed = FollowedPipe("-", spool)
    block, written = b"x" * (1 << 16), 0
    stuck_since = time.monotonic()
    while spool.end < LEAD_BYTES or time.monotonic() - stuck_since < 1.0:  # before, the reader was only late
        assert spool.end <= LEAD_BYTES + (2 << 20)
        try:
            written += os.write(theirs, block)
            stuck_since = time.monotonic()
        except BlockingIOError:
            time.sleep(0.001)
    assert LEAD_BYTES <= spool.end <= LEAD_BYTES + (2 << 20)
    got = 0
    while got < written:
        got += sum(len(event.data) for event in followed.poll(0.0) if isinstance(event, Appended))
    assert got == written
    spool.close()
