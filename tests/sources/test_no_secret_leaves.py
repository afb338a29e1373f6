"""Secrets of every kind stand in the log, the command line and the environment of a run: none leaves the machine, in nothing."""

from __future__ import annotations

import gzip
import io
import os
import shlex
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from hangtop.cli.commands import bundle, check
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.feeds.recording import RecordedFeed, Recorder
from hangtop.guard import send_notice
from hangtop.guard.post import Notice
from hangtop.records.watch_spec import WatchSpec
from tests.fakes.processes import PATIENCE_S, running
from tests.planted.plant import Planted, planted

IN_LOG = [each for each in planted(1, 11) if not each.kind.startswith(("environment", "options"))]
IN_COMMAND = [each for each in planted(1, 12, ("options",)) if each.text.startswith("train.py")]
IN_ENVIRONMENT = list(planted(1, 13, ("environment",)))
WRITER = """
import sys, time
with open(sys.argv[1], "a") as log:
    log.write(open(sys.argv[2]).read())
    log.flush()
    print(flush=True)
    time.sleep(600)
"""


@contextmanager
def run(folder: Path) -> Iterator[WatchSpec]:
    """A run with all of them, which has written its log and sleeps. What it planned to write is written step by step."""
    log, lines = folder / "train.log", folder / "lines"
    lines.write_text("\n".join(f"{each.text}\nstep {step}/999 loss 2.1" for step, each in enumerate(IN_LOG)) + "\n")
    words = [word for each in IN_COMMAND for word in shlex.split(each.text)[1:]]
    environ = os.environ | dict(each.text.split("=", 1) for each in IN_ENVIRONMENT)  # type: ignore[misc]
    with running(sys.executable, "-c", WRITER, str(log), str(lines), *words, stdout=-1, env=environ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield WatchSpec(logs=(str(log),), sources=("log", "procs"))


def kinds_left(text: str) -> set[str]:
    everything: list[Planted] = [*IN_LOG, *IN_COMMAND, *IN_ENVIRONMENT]
    return {each.kind for each in everything if any(secret in text for secret in each.secrets)}


@pytest.mark.xdist_group("secrets")
@pytest.mark.side_by_side
def test_a_bundle_has_none(tmp_path: Path) -> None:
    with run(tmp_path) as spec:
        assert bundle.run(ProbeFeed(spec), spec, tmp_path / "b.tar.gz", io.StringIO()) == 0
    with tarfile.open(tmp_path / "b.tar.gz") as archive:
        files = {member.name: archive.extractfile(member).read().decode() for member in archive}  # type: ignore[union-attr]
    left = {name: kinds_left(text) for name, text in files.items()}
    assert {name: kinds for name, kinds in left.items() if kinds} == {}
    assert any("step 9/999 loss 2.1" in text for text in files.values())
    assert any("HF_TOKEN=[redacted]" in text for text in files.values())


@pytest.mark.xdist_group("secrets")
@pytest.mark.side_by_side
def test_what_leaves_the_probe_has_none_and_so_no_screen_report_or_recording(tmp_path: Path) -> None:
    recording, out = tmp_path / "session.hangtop", io.StringIO()
    with run(tmp_path) as spec:
        recorder = Recorder(recording, spec)
        check.run(RecordedFeed(ProbeFeed(spec), recorder), spec, wait_s=None, as_json=True, out=out)
        recorder.close()
        recorder.child.wait(PATIENCE_S)
    assert kinds_left(out.getvalue()) == set()
    told = gzip.decompress(recording.read_bytes()).decode()
    assert kinds_left(told) == set()
    assert "loss 2.1" in told
    assert msgspec.json.decode(out.getvalue())["schema"] == 1


def test_a_notice_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(send_notice, "_not_delivered", lambda _url, title, body, _picture: told.append(title + body))
    send_notice._sent(Notice(("json://localhost",), IN_LOG[0].text, "\n\n".join(each.text for each in IN_LOG)), "")
    assert told
    assert kinds_left(told[0]) == set()
