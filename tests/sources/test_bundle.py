"""A bundle of a real log: everything is in it, bounded, without secrets, and it is written as a whole or not at all."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from hangtop import bundle
from hangtop.commands import bundle as command
from hangtop.feeds import ProbeFeed
from hangtop.recording import load
from hangtop.spec import WatchSpec

SECRET = "hf_abcdefghijklmnopqrstuvwxyz0123"


def train_log(folder: Path, filler: int = 0) -> Path:
    log = folder / "train.log"
    log.write_text(
        f"config: {{'hub_token': '{SECRET}', 'max_tokens': 4096}}\n"
        + "[rank0]: step 1/10 loss 2.0\n" * (10 + filler)
        + "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    return log


def packed(log: Path, place: Path) -> dict[str, str]:
    spec = WatchSpec(logs=(str(log),), sources=("log", "procs"))
    out = io.StringIO()
    assert command.run(ProbeFeed(spec), spec, place, out) == 0
    with tarfile.open(place) as archive:
        return {member.name.removeprefix("hangtop-bundle/"): archive.extractfile(member).read().decode() for member in archive}  # type: ignore[union-attr]


def test_the_bundle_holds_verdict_findings_log_and_issue_text_but_no_secret(tmp_path: Path) -> None:
    files = packed(train_log(tmp_path), tmp_path / "out.tar.gz")
    assert {"verdict.json", "processes.txt", "environment.txt", "versions.txt", "issue.md", "redacted.txt"} <= set(files)
    assert '"verdict": "crashed"' in files["verdict.json"]
    assert files["issue.md"].startswith("### crashed: Rank 1: ")
    assert any(name.endswith("cuda.oom.txt") for name in files)
    assert "max_tokens" in files["log/00-train.log.head.txt"]
    assert all(SECRET not in text for text in files.values())
    assert "telling name" in files["redacted.txt"] or "Hugging Face token" in files["redacted.txt"]


def test_the_session_in_it_can_be_played_and_its_json_is_json(tmp_path: Path) -> None:
    files = packed(train_log(tmp_path), tmp_path / "out.tar.gz")
    session = tmp_path / "session.hangtop"
    session.write_text(files["session.hangtop"])
    assert len(load(session).lines) > 2
    assert json.loads(files["verdict.json"])["schema"] == 1
    assert all(SECRET not in text for text in files.values())


def test_a_big_log_is_packed_by_its_ends(tmp_path: Path) -> None:
    files = packed(train_log(tmp_path, filler=200_000), tmp_path / "out.tar.gz")
    assert len(files["log/00-train.log.head.txt"]) <= bundle.HEAD_BYTES
    assert len(files["log/00-train.log.tail.txt"]) <= bundle.TAIL_BYTES
    assert "CUDA out of memory" in files["log/00-train.log.tail.txt"]


def test_a_place_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    spec = WatchSpec(logs=(str(train_log(tmp_path)),), sources=("log",))
    out = io.StringIO()
    assert command.run(ProbeFeed(spec), spec, tmp_path / "missing" / "out.tar.gz", out) == 2
    assert out.getvalue().count("\n") == 1


def test_what_fails_halfway_leaves_nothing_behind(tmp_path: Path) -> None:
    class Broken(str):
        def encode(self, *_: object, **__: object) -> bytes:
            raise RuntimeError("disk gone")

    with pytest.raises(RuntimeError):
        bundle.write({"a.txt": "fine", "b.txt": Broken("x")}, tmp_path / "out.tar.gz", 0.0)
    assert list(tmp_path.iterdir()) == []
