"""What a drain keeps of a pipe, read by another process: all of it is handed on once, and its end stays readable."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import psutil
import pytest

from hangtop.probe.log import drain, start_drain
from hangtop.probe.log.drain import KEPT_BYTES
from hangtop.probe.log.followed_pipe import FollowedPipe
from hangtop.probe.log.start_drain import Drain
from hangtop.probe.log.tail import Appended, Skipped
from tests.fakes.processes import eventually

LINE = b"%012d\n"
LONG_LINE = b"%012d" + b"x" * 1011 + b"\n"


@contextmanager
def drained() -> Iterator[tuple[Drain, int]]:
    """A drain, and the end of the pipe that is written into."""
    ours, theirs = os.pipe()
    started = Drain(ours)
    os.close(ours)
    try:
        assert started.reads()
        yield started, theirs
    finally:
        started.close()
        with suppress(OSError):  # the test closed it
            os.close(theirs)


def test_a_drain_that_cannot_be_started_leaves_no_open_file(monkeypatch: pytest.MonkeyPatch):
    def none_left(*_: object, **__: object) -> NoReturn:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(start_drain.subprocess, "Popen", none_left)
    ours, theirs = os.pipe()
    before = os.listdir("/proc/self/fd")
    with pytest.raises(BlockingIOError):
        Drain(ours)
    assert os.listdir("/proc/self/fd") == before
    os.close(ours)
    os.close(theirs)


def test_more_than_is_kept_goes_through_and_its_end_stays():
    block = b"".join(LINE % n for n in range(100_000))
    turns = 60
    with drained() as (started, theirs):
        followed = FollowedPipe("-", started.memory)
        room = threading.Semaphore(8)

        def write() -> None:
            with os.fdopen(theirs, "wb", buffering=0) as file:
                for _ in range(turns):
                    room.acquire()  # no faster than it is read
                    for at in range(0, len(block), 1 << 16):
                        file.write(block[at : at + (1 << 16)])

        threading.Thread(target=write, daemon=True).start()
        size = 0
        while followed.status == "ok":
            for event in followed.poll(0.0):
                assert not isinstance(event, Skipped)
                if isinstance(event, Appended):
                    assert event.offset == size
                    begin = size % len(block)
                    assert event.data[: len(block) - begin] == block[begin : begin + len(event.data)]
                    before, size = size, size + len(event.data)
                    for _ in range(size // len(block) - before // len(block)):
                        room.release()
        assert size == turns * len(block) > KEPT_BYTES
        at = followed.start + 5_000_000 - (followed.start + 5_000_000) % len(block)
        assert followed.pread(len(block), at) == block
        assert followed.pread(10, followed.start - 1) == b""
        assert followed.pread(10, size - 3) == block[-3:]
        assert followed.not_kept is None


def test_a_reader_that_lags_never_makes_the_writer_wait_and_goes_on_at_a_line():
    with drained() as (started, theirs):
        followed = FollowedPipe("-", started.memory)
        count = 2 * KEPT_BYTES // len(LONG_LINE % 0)
        for begin in range(0, count, 64):
            block = b"".join(LONG_LINE % n for n in range(begin, begin + 64))
            while block:
                block = block[os.write(theirs, block) :]
        os.close(theirs)
        eventually(lambda: followed.board.closed, "the end of the pipe")
        events = []
        while followed.status == "ok":
            events += followed.poll(0.0)
        (skipped,) = [event for event in events if isinstance(event, Skipped)]
        data = b"".join(event.data for event in events if isinstance(event, Appended))
        first = int(data[:12])
        assert skipped.start == followed.skipped_bytes == first * len(LONG_LINE % 0)
        assert data == b"".join(LONG_LINE % n for n in range(first, count))


def test_memory_that_cannot_be_had_costs_what_comes_and_no_more():
    with drained() as (started, theirs):
        followed = FollowedPipe("-", started.memory)
        os.ftruncate(started.memory, drain.BOARD_BYTES)  # the ring is gone: the kernel cannot put anything there
        os.write(theirs, b"x" * 1000)
        eventually(lambda: followed.board.unkept == 1000, "the count of what was not kept")
        assert followed.not_kept == "1000 B not kept: no memory for it"
        assert [event for event in followed.poll(0.0) if isinstance(event, Skipped)]
        assert followed.modified_at is not None
        os.ftruncate(started.memory, drain.BOARD_BYTES + KEPT_BYTES)
        os.write(theirs, b"step 1\n")
        eventually(lambda: followed.end == 7, "what came later")
        assert [event.data for event in followed.poll(0.0) if isinstance(event, Appended)] == [b"step 1\n"]


def test_when_both_processes_of_the_drain_are_killed_at_once_it_is_said():
    with drained() as (started, theirs):
        followed = FollowedPipe("-", started.memory)
        os.write(theirs, b"step 1\n")
        eventually(lambda: followed.end, "the first line")
        list(followed.poll(0.0))
        reader = psutil.Process(followed.board.reader)
        guard = reader.parent()
        assert guard is not None
        guard.suspend()
        reader.kill()
        list(followed.poll(0.0))
        assert followed.status == "ok"  # another reader may come
        guard.kill()
        started._process.wait()  # until then the pipe is still open
        eventually(lambda: [*followed.poll(0.0), *followed.poll(1000.0)], "the fault")
        assert followed.status == "failed"
        assert "readers of the pipe were killed" in (followed.problem or "")
        with pytest.raises(BrokenPipeError):
            os.write(theirs, b"step 2\n")
