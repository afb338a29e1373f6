"""A bundle of a real log: everything is in it, bounded, without secrets, and it is written as a whole or not at all."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from hangtop.cli.commands import bundle as command
from hangtop.common.secrets.redactor import Redactor
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.feeds.replay import load
from hangtop.monitor import evidence_bundle
from hangtop.records.log import LogFile, LogReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from tests.fakes.processes import python, running

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


def test_versions_are_those_of_the_python_of_the_run_also_where_no_process_has_a_rank(tmp_path: Path) -> None:
    """A virtual environment is a link: where it leads tells another Python."""
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")), check=True)
    log, own = tmp_path / "train.log", str(tmp_path / "venv" / "bin" / "python")
    program = (
        "import sys, time; f = open(sys.argv[1], 'a'); f.write('step 1/9\\n'); f.flush(); print(flush=True); time.sleep(600)"
    )
    with running(own, "-c", program, str(log), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        files = packed(log, tmp_path / "out.tar.gz")
    assert f"interpreter {own}" in files["versions.txt"].splitlines()
    assert not any(line.startswith("textual ") for line in files["versions.txt"].splitlines())


def test_the_bundle_holds_verdict_findings_log_and_issue_text_but_no_secret(tmp_path: Path) -> None:
    files = packed(train_log(tmp_path), tmp_path / "out.tar.gz")
    assert {"verdict.json", "processes.txt", "environment.txt", "versions.txt", "issue.md", "redacted.txt"} <= set(files)
    assert '"verdict": "crashed"' in files["verdict.json"]
    assert files["issue.md"].startswith("### crashed: Rank 1: ")
    assert any(name.endswith("cuda.oom.txt") for name in files)
    assert "max_tokens" in files["log/00-train.log.head.txt"]
    assert all(SECRET not in text for text in files.values())
    assert "token with a vendor's prefix" in files["redacted.txt"]
    assert "timeline.svg" in files or "time" in files["timeline.missing.txt"]


def test_the_session_in_it_can_be_played_and_its_json_is_json(tmp_path: Path) -> None:
    files = packed(train_log(tmp_path), tmp_path / "out.tar.gz")
    session = tmp_path / "session.hangtop"
    session.write_text(files["session.hangtop"])
    assert len(load(session).times) > 2
    assert json.loads(files["verdict.json"])["schema"] == 1
    assert all(SECRET not in text for text in files.values())


def test_a_big_log_is_packed_by_its_ends(tmp_path: Path) -> None:
    files = packed(train_log(tmp_path, filler=200_000), tmp_path / "out.tar.gz")
    assert len(files["log/00-train.log.head.txt"]) <= evidence_bundle.HEAD_BYTES
    assert len(files["log/00-train.log.tail.txt"]) <= evidence_bundle.TAIL_BYTES
    assert "CUDA out of memory" in files["log/00-train.log.tail.txt"]


@pytest.mark.parametrize("edge", ["head", "tail"])
@pytest.mark.parametrize("inside", [4, 12, 26])
def test_a_secret_that_an_edge_cuts_does_not_slip_through_in_half(tmp_path: Path, edge: str, inside: int) -> None:
    log, line = tmp_path / "train.log", f"loading with {SECRET}\n"
    before = {"head": evidence_bundle.HEAD_BYTES, "tail": 8_192}[edge] - line.index(SECRET) - inside
    after = {"head": evidence_bundle.TAIL_BYTES + 50_000, "tail": evidence_bundle.TAIL_BYTES - (len(SECRET) - inside) - 1}[edge]
    log.write_text("x" * (before - 1) + "\n" + line + "y" * (after - 1) + "\n")
    files = packed(log, tmp_path / "out.tar.gz")
    assert all(SECRET[inside : inside + 6] not in text and SECRET[3:9] not in text for text in files.values())


def test_a_private_key_without_its_first_line_is_one(tmp_path: Path) -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 20
    assert "MIIE" not in Redactor().text(f"a line\n{body}-----END PRIVATE KEY-----\nanother")


def test_its_course_and_the_issue_text_tell_what_happened(tmp_path: Path) -> None:
    files = packed(train_log(tmp_path), tmp_path / "out.tar.gz")
    assert "training (train_loop, " in files["history.txt"]
    assert "crashed: Rank 1: torch.OutOfMemoryError" in files["history.txt"]
    assert "no stacks were taken" in files["stacks.txt"]
    issue = files["issue.md"]
    assert "- cuda.oom (fatal, cause): torch.OutOfMemoryError" in issue
    assert issue.count("step 1/10 loss 2.0") >= 5
    for asked in ("Hardware", "Versions", "Command", "Last lines of the log", "Environment", "Expected", "Tried so far"):
        assert f"**{asked}" in issue


def test_many_logs_share_the_room_there_is(tmp_path: Path) -> None:
    logs = [tmp_path / f"rank{rank}.log" for rank in range(64)]
    for log in logs:
        log.write_text("[rank0]: step 1/10 loss 2.0\n" * 60_000)
    files = [LogFile(str(log), size_bytes=log.stat().st_size) for log in logs]
    snapshot = take_snapshot(RunState(log=LogReading(tuple(files))), WatchSpec(), 0.0)
    texts = evidence_bundle.log_parts(snapshot)
    assert len(texts) == 2 * len(logs)
    assert sum(map(len, texts.values())) <= evidence_bundle.LOGS_BYTES


def test_of_a_very_large_session_the_newest_part_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_bundle, "SESSION_BYTES", 2_000)
    session = [Reading("log", "here", at, LogReading((), last_line="x" * 100)) for at in range(100)]
    lines = list(evidence_bundle.session_lines(take_snapshot(RunState(), WatchSpec(), 0.0), session, Redactor()))
    assert 1 < len(lines) < 20
    assert '"at":99' in lines[-1]


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
        evidence_bundle.write({"a.txt": "fine", "b.txt": Broken("x")}, tmp_path / "out.tar.gz", 0.0)
    assert list(tmp_path.iterdir()) == []


def test_a_process_whose_environment_nobody_gets_to_read_holds_up_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go, asked = threading.Event(), list[int]()
    stuck = SimpleNamespace(environ=lambda pid: (asked.append(pid), let_go.wait()), cwd=lambda pid: "/")
    monkeypatch.setattr(command, "open_table", lambda: stuck)
    monkeypatch.setenv("RANK", "of this shell")
    with python("import time; time.sleep(600)") as child:
        spec = WatchSpec(pids=(child.pid,), sources=("procs",))
        assert command.run(ProbeFeed(spec), spec, tmp_path / "out.tar.gz", io.StringIO()) == 0
    let_go.set()
    assert asked == [child.pid]
    with tarfile.open(tmp_path / "out.tar.gz") as archive:
        told = archive.extractfile("hangtop-bundle/environment.txt")
        assert told is not None
        assert "RANK=of this shell" in told.read().decode()
