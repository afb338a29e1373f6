"""Logs that are no files: stdin and named pipes."""

from __future__ import annotations

import os
import threading

from tests.fakes.log_session import steps
from tests.fakes.piped import kept
from tests.fakes.processes import eventually

FILLER = (b"x" * 1023 + b"\n") * 64


def test_a_pipe_on_stdin_is_read_and_its_end_is_told(watch):
    ours, theirs = os.pipe()
    with kept(ours) as stdin:
        os.close(ours)
        session = watch("-", stdin=stdin)
        session.read()
        os.write(theirs, steps(1, 4).encode())
        log = session.until(lambda log: log.progress.step == 3)
        assert log.files[0].path == "-"
        assert log.files[0].status == "ok"
        os.close(theirs)
        log = session.until(lambda log: log.files[0].status == "closed")
        assert log.files[0].problem == "-: its writer closed the pipe: nothing more will come"
        assert log.lines == 3


def test_a_writer_that_is_no_faster_than_it_is_read_loses_nothing(watch):
    ours, theirs = os.pipe()
    block = steps(1, 20_000).encode()

    def write() -> None:
        with os.fdopen(theirs, "wb") as pipe:
            for _ in range(8):
                pipe.write(block)

    with kept(ours) as stdin:
        os.close(ours)
        session = watch("-", stdin=stdin)
        threading.Thread(target=write, daemon=True).start()
        log = session.until(lambda log: log.files[0].status == "closed")
        assert log.lines == 8 * 19_999
        assert log.bytes == 8 * len(block)
        assert log.files[0].not_kept is None


def test_what_came_while_nobody_looked_is_counted_and_what_was_known_stays(watch):
    ours, theirs = os.pipe()
    with kept(ours) as stdin:
        os.close(ours)
        session = watch("-", stdin=stdin)
        os.write(theirs, b"[rank0]: loading model\n" + steps(1, 4).encode())
        session.until(lambda log: log.progress.step == 3)
        for _ in range(1_600):  # 100 MB, while the reader of what is kept sleeps
            os.write(theirs, FILLER)
        os.write(theirs, steps(4, 9).encode())
        os.close(theirs)
        log = session.until(lambda log: log.files[0].status == "closed")
        assert log.progress.step == 8
        assert log.files[0].not_kept is not None
        assert log.files[0].not_kept.endswith("not kept: it came faster than it was read")
        assert log.bytes == log.files[0].size_bytes


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


def test_the_writer_of_a_named_pipe_lives_when_hangtop_has_gone_and_another_hangtop_takes_over(tmp_path, watch):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    session = watch(path)
    session.read()
    with path.open("wb", buffering=0) as writer:
        writer.write(b"step 1/10\n")
        session.until(lambda log: log.progress.step == 1)
        session.source.close()
        for _ in range(64):
            writer.write(b"x" * 999_999 + b"\n")  # neither waits nor gets SIGPIPE
        again = watch(path)
        again.read()
        written = 0

        def taken_over() -> bool:
            nonlocal written
            written += 1
            writer.write(b"step %d/10000\n" % written)
            again.read()
            return again.state.log is not None and (again.state.log.progress.step or 0) > 3

        eventually(taken_over, "the second hangtop reading")
        for step in range(written + 1, written + 21):
            writer.write(b"step %d/10000\n" % step)
            again.until(lambda log, step=step: log.progress.step == step)  # the first one's drain takes none of them
