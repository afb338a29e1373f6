"""A sample of `python -m tests.scenarios.guard`: one real run that hangs at night."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.guard.half_done import faults_of_half_done
from tests.scenarios.guard.unattended import LIMIT_S, faults_of_recovery, unattended

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only"),
    pytest.mark.xdist_group("guard's runs"),
    pytest.mark.side_by_side,
]


def test_a_run_that_hangs_is_told_of_started_again_once_and_finishes(tmp_path: Path) -> None:
    assert faults_of_recovery(unattended("hang", tmp_path)) == []


TRAINS = """
import pathlib, sys, time
first = 11 if "--resume" in sys.argv else 1
for step in range(first, 16):
    print(f"step {step}/15 loss {2 / step:.3f}", flush=True)
    time.sleep(0.3)
    if step == 10:
        folder = pathlib.Path("ckpt/checkpoint-10")
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(bytes(100))
        print("saved", folder, sys.argv[1:], flush=True)
        time.sleep(1000)
print("training finished", flush=True)
"""
RESUMES = """
[[when]]
event = ["hung", "stalled"]
confidence = "possible"
do = "restart"
[restart]
command = ["{python}", "train.py", "--seed", "7"]
resume = ["--resume", "{{checkpoint}}"]
"""


def test_a_run_goes_on_from_its_newest_checkpoint_by_the_command_of_the_policy(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINS)
    (tmp_path / "guard.toml").write_text(RESUMES.format(python=sys.executable))
    options = ("--log", "train.log", "--ckpt", "ckpt", "--stall", "8", "--policy", "guard.toml")
    guard = (sys.executable, "-m", "hangtop", "guard", *options, "--", sys.executable, "train.py")
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    ended = subprocess.run(guard, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=LIMIT_S)
    log = (tmp_path / "train.log").read_text()
    assert ended.returncode == 0, ended.stderr
    assert (log.count("step 10/15"), log.count("step 11/15")) == (1, 1)
    assert log.endswith("training finished\n")


def test_a_guard_that_is_killed_between_the_stop_and_the_start_goes_on_with_the_start(tmp_path: Path) -> None:
    assert faults_of_half_done(tmp_path, "starts") == []
