"""Events reach their reader whole and in order, whatever ails it, and never hold up the guard."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from hangtop.guard.lines_out import MOST_KEPT, LinesOut

Pipe = tuple[int, int]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    yield reader, writer
    os.close(reader)
    os.close(writer)


def read(fd: int) -> bytes:
    data = b""
    while True:
        try:
            data += os.read(fd, 1 << 20)
        except BlockingIOError:
            return data


def test_a_reader_that_takes_nothing_gets_every_line_later(pipe: Pipe) -> None:
    reader, writer = pipe
    out = LinesOut(writer)
    lines = [f"{number} {'x' * 3000}" for number in range(100)]
    for line in lines:
        out.put(line)
    assert out.problem == "its reader takes nothing"
    got = b""
    while not out.flush():
        got += read(reader)
    assert (got + read(reader)).decode().splitlines() == lines
    assert (out.problem, out.lost) == ("", 0)


def test_of_too_many_lines_the_oldest_go_and_none_is_torn(pipe: Pipe) -> None:
    reader, writer = pipe
    out = LinesOut(writer)
    lines = [f"{number:06} {'x' * 100}" for number in range(MOST_KEPT + 5000)]
    for line in lines:
        out.put(line)
    assert out.lost > 0
    got = b""
    while not out.flush():
        got += read(reader)
    seen = (got + read(reader)).decode().splitlines()
    assert set(seen) <= set(lines)
    assert len(seen) == len(lines) - out.lost
    assert seen[-1] == lines[-1]


def test_a_full_disk_is_told_and_what_waited_is_written_once_there_is_room() -> None:
    out = LinesOut(os.open("/dev/full", os.O_WRONLY))
    out.put("hung")
    assert out.problem == "No space left on device"
    assert not out.end(0.0)


def test_a_reader_that_is_gone_ends_nothing() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    out = LinesOut(writer)
    out.put("hung")
    assert out.problem == "Broken pipe"
    os.close(writer)
    out.put("still hung")
    assert out.problem == "Bad file descriptor"
