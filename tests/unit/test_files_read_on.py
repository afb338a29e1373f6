"""Who reads a file piece by piece, and rests between, comes nearer to its end; who looks for something new does not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.probe.waits.read_files import ReadFile, file_reads, read_files
from hangtop.records.process import Writer
from hangtop.records.verdict import Verdict
from hangtop.records.watched_waits import FileReads, ThreadMoves, WatchedProcess
from tests.fakes.members import LOCK, NOW, SPEC, four
from tests.fakes.waited import waits, watch, watched


def looks(*places: tuple[int, int]) -> list[dict[str, ReadFile]]:
    """Where it stands, and how big the file is."""
    return [{"/data/model.bin": ReadFile(7, at, size)} for at, size in places]


def test_a_file_that_is_read_on() -> None:
    assert file_reads(looks((10, 90), (20, 90), (20, 90), (40, 90))) == (FileReads("/data/model.bin", 2, 30),)


@pytest.mark.parametrize(
    "seen",
    [
        looks((10, 90), (90, 90)),
        looks((10, 20), (20, 30), (25, 40)),
        looks((10, 90), (40, 90), (20, 90)),
        looks((10, 90), (10, 90)),
        [*looks((10, 90)), {"/data/model.bin": ReadFile(8, 20, 90)}],
    ],
    ids=["to its end", "it grows", "read again", "nothing is read", "another file of that name"],
)
def test_a_file_in_which_nothing_comes_nearer_to_an_end(seen: list[dict[str, ReadFile]]) -> None:
    assert file_reads(seen) == ()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")
def test_files_that_are_open_are_told_with_their_way(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(bytes(90))
    with (tmp_path / "model.bin").open("rb", buffering=0) as source, (tmp_path / "copy.bin").open("wb") as copy:
        source.read(30)
        copy.write(b"x")
        told = read_files(os.getpid())
    found = told[str(tmp_path / "model.bin")]
    assert (found.at, found.size, found.written) == (30, 90, False)
    assert told[str(tmp_path / "copy.bin")].written


READS = FileReads("/data/model.bin", read_in=4, bytes=130_000)


def said(**more: object) -> Verdict:
    own: WatchedProcess = watched(102, waits(102, kind="sleep"), **more)
    return diagnose(replace(four(LOCK), waits=watch(own, at=NOW - 10)), SPEC, NOW)


def test_a_rank_that_reads_a_file_slowly_is_at_work() -> None:
    verdict = said(files=(READS,), moves=(ThreadMoves(102, 4, 260_000),))
    assert (verdict.word, verdict.at_work) == ("slow", (2,))
    assert "reads model.bin" in verdict.headline


def test_a_rank_that_makes_a_file_longer_lives_and_lines_of_its_log_prove_nothing() -> None:
    grows = [{"/out/rows.bin": ReadFile(7, at, at, written=True)} for at in (10, 10, 20, 30)]
    longer = FileReads("/out/rows.bin", 2, 20, written=True)
    assert file_reads(grows) == (longer,)
    assert file_reads([grows[0], {"/out/rows.bin": ReadFile(8, 20, 20, written=True)}]) == (), "made anew"
    own = watched(102, waits(102, kind="sleep"), files=(longer,), moves=(ThreadMoves(102, 4, 40),))
    state = replace(four(LOCK), waits=watch(own, at=NOW - 10))
    assert diagnose(state, SPEC, NOW).headline.startswith("Rank 2 is at work: waits for a lock")
    assert state.procs is not None
    writers = (Writer(102, 0.0, "python", "python", alive=True, paths=("/out/rows.bin",)),)
    assert diagnose(replace(state, procs=replace(state.procs, writers=writers)), SPEC, NOW).word == "hung"


def test_what_another_process_reads_through_a_shared_description_is_not_its_work() -> None:
    assert said(files=(READS,)).word == "hung", "no byte passed through its own calls"
    assert said(files=(replace(READS, read_in=1),), moves=(ThreadMoves(102, 4, 260_000),)).word == "hung", "once"
    assert said(moves=(ThreadMoves(102, 4, 260_000),)).word == "hung", "a file that is looked at again and again"
