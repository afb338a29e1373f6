"""A run goes on from its newest whole checkpoint, never from one whose save may have been cut short."""

from __future__ import annotations

import os
from pathlib import Path

from hangtop.guard.checkpoint import newest_whole


def saved(path: Path, at: float, size: int = 9) -> None:
    """A file of this size, written then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, (at, at))


def test_the_newest_one_that_was_saved_before_the_run_fell_silent(tmp_path: Path) -> None:
    saved(tmp_path / "checkpoint-10" / "model.safetensors", 100.0)
    saved(tmp_path / "checkpoint-9" / "model.safetensors", 90.0)
    saved(tmp_path / "checkpoint-20" / "actor" / "model.safetensors", 100.0)
    saved(tmp_path / "checkpoint-20" / "optimizer.pt", 205.0)
    assert newest_whole(str(tmp_path), 300.0) == str(tmp_path / "checkpoint-20")
    assert newest_whole(str(tmp_path), 200.0) == str(tmp_path / "checkpoint-10"), "its save may have hung"
    assert newest_whole(str(tmp_path), 50.0) is None
    assert newest_whole(str(tmp_path), None) is None


def test_a_file_of_weights_is_one_and_what_lies_beside_is_none(tmp_path: Path) -> None:
    saved(tmp_path / "epoch=1-step=5.ckpt", 100.0)
    saved(tmp_path / "trainer_state.json", 200.0)
    saved(tmp_path / "logs" / "events.1", 200.0)
    saved(tmp_path / "checkpoint-7-tmp" / "model.bin", 200.0)
    saved(tmp_path / "global_step_8" / "model.bin", 200.0, size=0)
    assert newest_whole(str(tmp_path), 300.0) == str(tmp_path / "epoch=1-step=5.ckpt")
