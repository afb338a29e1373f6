"""`hangtop profile` on real processes: the rank that stands in a lock comes first, and what it cost is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hangtop.probe.stacks import pyspy
from tests.fakes.processes import running
from tests.fakes.runs import hangtop

pytestmark = pytest.mark.skipif(pyspy.find() is None, reason="py-spy is not installed")
PROGRAM = """
import sys, threading, time
def wait_for_peers():
    time.sleep(600)
def stuck():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
print("up", flush=True)
print("step 1/9 loss=1", file=open(sys.argv[2], "a"), flush=True)
held = open(sys.argv[2], "a")
stuck() if sys.argv[1] == "2" else wait_for_peers()
"""


@pytest.fixture
def ends() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("kind", ["svg", "json"])
def test_the_odd_rank_comes_first_and_the_picture_is_written(kind, tmp_path: Path, ends: ExitStack):
    (tmp_path / "train.py").write_text(PROGRAM)
    log, out = tmp_path / "train.log", tmp_path / f"profile.{kind}"
    for rank in range(3):
        environ = os.environ | {"RANK": str(rank), "WORLD_SIZE": "3", "LOCAL_RANK": str(rank)}
        argv = (sys.executable, str(tmp_path / "train.py"), str(rank), str(log))
        process = ends.enter_context(running(*argv, env=environ, stdout=subprocess.PIPE))
        assert process.stdout is not None
        process.stdout.readline()
    answer = hangtop("profile", "--log", str(log), "--seconds", "2", "-o", str(out))
    assert answer.returncode == 0, answer.stderr
    first = answer.stdout.splitlines()[0]
    assert first.startswith("rank 2")
    assert "stuck (train.py:" in first
    assert "stops none of them" in answer.stderr
    assert "% a process" in answer.stderr
    if kind == "svg":
        assert ElementTree.fromstring(out.read_text()).tag.endswith("svg")
    else:
        assert json.loads(out.read_text())["profiles"][0]["name"] == "rank 2"


def test_without_a_process_one_line_says_why(tmp_path: Path):
    (tmp_path / "train.log").write_text("step 1/9 loss=1\n")
    answer = hangtop("profile", "--log", str(tmp_path / "train.log"), "--seconds", "1")
    assert answer.returncode == 4
    assert "no process of this run is known on this machine" in answer.stderr
