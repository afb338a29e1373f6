"""Logs that are no files: stdin and named pipes."""

from __future__ import annotations

import os
import threading

from tests.fakes.log_session import steps


def test_a_pipe_on_stdin_is_read_and_its_end_is_told(watch):
    ours, theirs = os.pipe()
    session = watch("-", stdin_fd=ours)
    session.read()
    os.write(theirs, steps(1, 4).encode())
    log = session.until(lambda log: log.progress.step == 3)
    assert log.files[0].path == "-"
    assert log.files[0].status == "ok"
    os.close(theirs)
    log = session.until(lambda log: log.files[0].status == "closed")
    assert log.files[0].problem == "-: its writer closed the pipe: nothing more will come"
    assert log.lines == 3
    os.close(ours)


def test_a_fast_writer_into_a_pipe_loses_nothing(watch):
    ours, theirs = os.pipe()
    block = steps(1, 20_000).encode()

    def write() -> None:
        with os.fdopen(theirs, "wb") as pipe:
            for _ in range(8):
                pipe.write(block)

    session = watch("-", stdin_fd=ours)
    threading.Thread(target=write, daemon=True).start()
    log = session.until(lambda log: log.files[0].status == "closed")
    os.close(ours)
    assert log.lines == 8 * 19_999
    assert log.bytes == 8 * len(block)


def test_a_named_pipe_outlives_its_writers(tmp_path, watch):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    session = watch(path)
    session.read()
    for n in (1, 2):
        with path.open("w") as pipe:
            pipe.write(f"step {n}/10\n")
        session.until(lambda log, n=n: log.progress.step == n)
    assert session.state.log is not None
    assert session.state.log.files[0].status == "ok"
