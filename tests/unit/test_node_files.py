"""Output files of ranks on another node: which they are, and their parts as they come over the node's line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hangtop.probe.log.tail import Appended
from hangtop.probe.nodes.node_files import NodeFiles
from hangtop.probe.nodes.node_link import NodeLink
from hangtop.probe.nodes.node_side.parts import outputs_of, tell_part


class Line(NodeLink):
    """A line to a node that is this machine: each question is answered at once."""

    def __init__(self, known: set[str]) -> None:
        super().__init__(1, "n2", ("false",), {})
        self.known, self.asked = known, list[dict[str, Any]]()

    def _ask(self, ask: int, record: dict[str, Any]) -> None:
        super()._ask(ask, record)
        self._answers[ask].clear()
        self.asked.append(record["part"])
        tell_part(record["part"], self.known, self._answers[ask].append)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "rank1.out"


def told(files: NodeFiles, now: float) -> list[bytes]:
    (log,) = (each.far for each in files.follow([]) if each.far is not None)
    files.fetch(now)
    return [event.data for event in log.poll(now) if isinstance(event, Appended)]


def test_the_end_of_a_file_is_read_and_then_what_comes(output: Path) -> None:
    output.write_bytes(b"old\n" * 10_000 + b"step 1\n")
    files = NodeFiles(Line({str(output)}))
    (file,) = files.follow([(1, [(str(output), False)])])
    assert (file.path, file.rank) == (f"n2:{output}", 1)
    first = b"".join(told(files, 0.0))
    assert first.endswith(b"old\nstep 1\n")
    assert len(first) <= 16 << 10, "a part"
    with output.open("ab") as out:
        out.write(b"RuntimeError: boom\n")
    assert told(files, 100.0) == [b"RuntimeError: boom\n"]


def test_what_lies_in_a_file_that_is_added_to_may_be_of_an_earlier_run_and_is_not_read(output: Path) -> None:
    output.write_bytes(b"RuntimeError: of yesterday\n")
    files = NodeFiles(Line({str(output)}))
    files.follow([(1, [(str(output), True)])])
    assert told(files, 0.0) == []
    with output.open("ab") as out:
        out.write(b"step 1\n")
    assert b"".join(told(files, 100.0)).strip() == b"step 1"


def test_a_file_that_no_rank_was_seen_to_write_is_not_read(output: Path) -> None:
    output.write_bytes(b"secret\n")
    files = NodeFiles(Line(set()))
    files.follow([(1, [(str(output), False)])])
    assert told(files, 0.0) == []
    (log,) = files.follow([])
    assert log.far is not None
    assert log.far.problem == "no rank here writes it"


def test_a_file_of_several_ranks_is_no_ones_and_stays_when_they_are_dead(output: Path) -> None:
    files = NodeFiles(Line(set()))
    outputs = [(str(output), False)]
    assert [file.rank for file in files.follow([(8, outputs), (9, outputs)])] == [None]
    assert [file.rank for file in files.follow([])] == [None]


def test_outputs_are_the_plain_files_that_it_writes_and_are_not_read_already(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("added.log", "new.log", "model.bin", "read.log", "watched.log")]
    paths[3].touch()
    flags = (os.O_WRONLY | os.O_APPEND, os.O_WRONLY, os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)
    fds = [os.open(path, flag | os.O_CREAT) for path, flag in zip(paths, flags, strict=True)]
    writer = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=fds)
    try:
        found = outputs_of(writer.pid, {str(paths[4])})
    finally:
        writer.communicate()
        for fd in fds:
            os.close(fd)
    assert found == [[str(paths[0]), True], [str(paths[1]), False]]
