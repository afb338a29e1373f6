"""How a run that hangtop started ended, where no look of the probe saw its writer or its exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from hangtop.probe.processes.told_end import ToldEnd
from hangtop.records.launch import Launch
from hangtop.records.process import Writer
from hangtop.system.stores import launch_store

BEGAN, ENDED = 1_000.0, 1_004.0
RUNNER = Writer(41, BEGAN, "python", "python -m runner", alive=False, gone_at=ENDED + 1)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a run that ended with exit code 3, unseen."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    log = tmp_path / "train.log"
    log.write_text("step 1/9\n")
    size = log.stat().st_size
    launch_store.keep(Launch(("bash", "train.sh"), "/", "", 42, 7, BEGAN, str(log), exit_code=3, ended_at=ENDED, size_bytes=size))
    return log


def told(log: Path, *writers: Writer, written_at: float | None = None) -> tuple[Writer, ...]:
    end = ToldEnd((str(log),))
    end.look()
    return end.beside(writers, written_at)


def test_the_end_of_a_run_that_nobody_saw_is_told(log: Path) -> None:
    (writer,) = told(log)
    assert (writer.name, writer.exit_code, writer.gone_at, writer.alive) == ("bash", 3, ENDED, False)


def test_last_words_that_are_read_after_the_end_are_the_runs_own(log: Path) -> None:
    (writer,) = told(log, written_at=ENDED + 2)
    assert writer.gone_at == ENDED + 2


def test_who_writes_after_the_end_is_another_run(log: Path) -> None:
    with log.open("a") as file:
        file.write("step 1/9\n")
    assert told(log) == ()


def test_an_end_without_a_code_gets_the_one_of_the_store(log: Path) -> None:
    before = Writer(40, BEGAN - 500, "python", "python old.py", alive=False, gone_at=BEGAN - 400)
    assert [(writer.pid, writer.exit_code) for writer in told(log, before, RUNNER)] == [(40, None), (42, 3)]


@pytest.mark.parametrize(
    "writer", [Writer(41, BEGAN, "python", "python"), Writer(41, BEGAN, "python", "", 0, (), None, False, ENDED, 0)]
)
def test_a_writer_that_lives_or_has_told_its_end_is_believed(log: Path, writer: Writer) -> None:
    assert told(log, writer) == (writer,)


def test_of_a_run_that_hangtop_did_not_start_nothing_is_told(log: Path) -> None:
    other = log.with_name("other.log")
    other.write_text("step 1/9\n")
    assert told(other) == ()
