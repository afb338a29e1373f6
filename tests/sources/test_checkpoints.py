"""A checkpoint that is being written is a sign of life, and its directory is found without help."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.probe.context import ProbeContext
from hangtop.probe.processes.process_source import ProcessSource
from hangtop.probe.source import Absent, SourceError
from hangtop.probe.storage.checkpoint_source import FLOOR_S, CheckpointSource, below, in_command, in_files
from hangtop.records.checkpoints import CheckpointReading
from hangtop.records.log import LogReading
from hangtop.records.process import ProcessReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.processes.table import OpenFile
from tests.fakes.processes import eventually, python

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")


def told(source: CheckpointSource, now: float) -> CheckpointReading | None:
    values = list(source.read(now))
    assert all(isinstance(value, CheckpointReading) for value in values)
    return values[0] if values else None  # type: ignore[return-value]


def test_the_newest_file_and_the_growth_of_the_given_directory_are_told(tmp_path: Path) -> None:
    source = CheckpointSource(ProbeContext(WatchSpec(checkpoint_dir=str(tmp_path))))
    first = told(source, 100.0)
    assert first == CheckpointReading(directory=str(tmp_path), found_by="--ckpt")
    step = tmp_path / "global_step_20"
    step.mkdir()
    (step / "model_rank_0.pt").write_bytes(b"x" * 4_000)
    os.utime(step / "model_rank_0.pt", (50.0, 50.0))
    (step / "optim_rank_0.pt").write_bytes(b"x" * 6_000)
    os.utime(step / "optim_rank_0.pt", (60.0, 60.0))
    second = told(source, 100.0 + FLOOR_S)
    assert second is not None
    assert (second.newest, second.newest_bytes, second.modified_at) == ("global_step_20/optim_rank_0.pt", 6_000, 60.0)
    assert (second.bytes, second.files) == (10_000, 2)
    assert second.growth_b_s == pytest.approx(10_000 / FLOOR_S, abs=0.1)
    assert second.grown_at == 100.0 + FLOOR_S


def test_nothing_is_read_again_before_something_stirs_or_time_is_up(tmp_path: Path) -> None:
    source = CheckpointSource(ProbeContext(WatchSpec(checkpoint_dir=str(tmp_path))))
    assert told(source, 100.0) is not None
    assert told(source, 101.0) is not None, "one look alone cannot tell that a save goes on"
    assert told(source, 102.0) is None
    assert told(source, 101.0 + FLOOR_S) is not None


def test_a_write_wakes_the_look_before_its_time(tmp_path: Path) -> None:
    source = CheckpointSource(ProbeContext(WatchSpec(checkpoint_dir=str(tmp_path))))
    assert told(source, 100.0) is not None
    number = iter(range(1_000_000))

    def stir() -> CheckpointReading | None:
        (tmp_path / "model.pt").write_text("x" * next(number))
        time.sleep(0.05)
        return told(source, 103.0)

    assert eventually(stir, "a look on a write").files == 1


def test_while_it_grows_it_is_looked_at_every_two_seconds(tmp_path: Path) -> None:
    source = CheckpointSource(ProbeContext(WatchSpec(checkpoint_dir=str(tmp_path))))
    told(source, 100.0)
    (tmp_path / "model.pt").write_text("x")
    told(source, 100.0 + FLOOR_S)
    assert told(source, 101.0 + FLOOR_S) is None
    assert told(source, 102.0 + FLOOR_S) is not None


def test_a_directory_that_is_not_there_is_trouble(tmp_path: Path) -> None:
    source = CheckpointSource(ProbeContext(WatchSpec(checkpoint_dir=str(tmp_path / "none"))))
    with pytest.raises(SourceError, match="none: no such directory"):
        told(source, 100.0)


@linux_only
def test_without_a_run_there_is_none(tmp_path: Path) -> None:
    source = CheckpointSource(ProbeContext(WatchSpec(logs=(str(tmp_path / "train.log"),))))
    with pytest.raises(Absent, match="--ckpt DIR"):
        told(source, 100.0)


@linux_only
@pytest.mark.parametrize("how", ["the log", "the command line", "an open file", "its name"])
def test_the_directory_is_found_by_the_run_itself(tmp_path: Path, how: str) -> None:
    log, keeps = tmp_path / "train.log", tmp_path / "checkpoints"
    keeps.mkdir()
    words = ["--output_dir", "checkpoints"] if how == "the command line" else []
    opened = f"file = open({str(keeps / 'model.pt')!r}, 'w'); " if how == "an open file" else ""
    program = f"import time; {opened}print(1, flush=True); time.sleep(600)"
    with log.open("wb") as out, python(program, *words, stdout=out, stderr=subprocess.DEVNULL, cwd=tmp_path):
        eventually(lambda: log.stat().st_size)
        (keeps / "step_1.pt").write_bytes(b"x")
        context = ProbeContext(WatchSpec(logs=(str(log),)))
        list(ProcessSource(context).read(time.time()))
        if how == "the log":
            context.log = LogReading(files=(), checkpoint_dir="checkpoints")
        reading = told(CheckpointSource(context), 100.0)
        assert reading is not None
        assert (reading.directory, reading.found_by) == (str(keeps), how)


@linux_only
def test_what_an_older_run_left_in_the_folder_is_not_the_runs(tmp_path: Path) -> None:
    log, old = tmp_path / "train.log", tmp_path / "checkpoints"
    old.mkdir()
    (old / "global_step_900.pt").write_bytes(b"x" * 900)
    os.utime(old / "global_step_900.pt", (1_000_000.0, 1_000_000.0))
    with log.open("wb") as out, python("import time; print(1, flush=True); time.sleep(600)", stdout=out, cwd=tmp_path):
        eventually(lambda: log.stat().st_size)
        context = ProbeContext(WatchSpec(logs=(str(log),)))
        list(ProcessSource(context).read(time.time()))
        with pytest.raises(Absent, match="--ckpt DIR"):
            told(CheckpointSource(context), 100.0)
        given = ProbeContext(replace(context.spec, checkpoint_dir=str(old)))
        list(ProcessSource(given).read(time.time()))
        reading = told(CheckpointSource(given), 100.0)
        assert reading is not None
        assert (reading.newest, reading.bytes) == (None, 900)


@linux_only
def test_the_folder_of_a_program_that_only_may_be_the_run_is_not_the_runs(tmp_path: Path) -> None:
    log, keeps = tmp_path / "train.log", tmp_path / "checkpoints"
    keeps.mkdir()
    words = ("train.log", "--output_dir", "checkpoints")
    with python("import time; print(flush=True); time.sleep(600)", *words, cwd=tmp_path, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        log.write_text("step 1\n")
        context = ProbeContext(WatchSpec(logs=(str(log),)))
        (procs,) = [value for value in ProcessSource(context).read(time.time()) if isinstance(value, ProcessReading)]
        assert (procs.leads, procs.processes) == ((other.pid,), ())
        with pytest.raises(Absent, match="--ckpt DIR"):
            told(CheckpointSource(context), 100.0)


@pytest.mark.parametrize(
    ("command", "directory"),
    [
        ("python train.py --output_dir out", "/runs/out"),
        ("python train.py --output-dir=/data/out", "/data/out"),
        ("python -m verl.trainer.main_ppo trainer.default_local_dir=ckpt/run1 trainer.n_gpus=8", "/runs/ckpt/run1"),
        ("torchrun pretrain_gpt.py --save /ckpt --save-interval 100", "/ckpt"),
        ("python train.py --save --fp16", None),
        ("python train.py --learning-rate 1", None),
        ("python train.py --output_dir", None),
    ],
)
def test_the_option_of_each_framework_is_read(command: str, directory: str | None) -> None:
    assert in_command(command.split(), "/runs") == directory


def test_of_a_step_directory_the_one_above_is_meant() -> None:
    assert in_files([OpenFile(7, "/ckpt/run/global_step_20/model_rank_3.pt", writable=True)]) == "/ckpt/run"
    assert in_files([OpenFile(7, "/data/train.bin", writable=False), OpenFile(1, "/logs/train.log", writable=True)]) is None


def test_a_directory_of_steps_is_found_below_where_the_run_works(tmp_path: Path) -> None:
    (tmp_path / "outputs" / "run3" / "checkpoint-500").mkdir(parents=True)
    assert below(str(tmp_path)) == str(tmp_path / "outputs" / "run3")
    assert below(str(tmp_path / "outputs" / "run3" / "checkpoint-500")) is None


def test_a_folder_that_costs_much_to_look_at_is_looked_at_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that takes a second of CPU is not repeated each two seconds of a save."""
    source = CheckpointSource(ProbeContext(WatchSpec(checkpoint_dir=str(tmp_path))))
    spent = iter(range(100))
    monkeypatch.setattr("hangtop.probe.storage.checkpoint_source.time.thread_time", lambda: float(next(spent)))
    told(source, 100.0)
    for at, size in ((100.0 + FLOOR_S, 1_000), (200.0, 2_000)):
        (tmp_path / "model.pt").write_bytes(b"x" * size)
        told(source, at)
    assert told(source, 202.0) is None
    assert told(source, 240.0) is None
    assert told(source, 260.0) is not None
