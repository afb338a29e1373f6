"""What is said of a real run on Ray that waits, and lives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.ray_cluster import missing, real_ray

pytestmark = [
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.xdist_group("ray"),  # one cluster at a time: each wants both cores of a small machine
    pytest.mark.timeout(1800),
]


def test_an_async_actor_whose_coroutines_sleep_is_no_hang(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with real_ray() as ray:
        ray.run("coroutines.py", str(log), until="ASKED")
        command = [sys.executable, "-m", "hangtop", "check", "--log", str(log), "--stall", "3", "--wait", "12", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    said = json.loads(done.stdout)
    assert (done.returncode, said["verdict"]) == (0, "slow"), said["headline"]
    assert "runs coroutines that wait" in said["headline"]
