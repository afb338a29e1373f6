"""A guard that is killed (SIGKILL) at random moments, and started again each time, as a service is."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fakes.receiver import Receiver
from tests.scenarios.guard.unattended import LIMIT_S, POLICY, command, demo

LONGEST_S = 12.0
"""A life of the guard, before the next kill."""
FIRST_LINE = "OMP_NUM_THREADS environment variable"
"""What the launcher of the demo says when it starts."""


def faults_of_kills(folder: Path, kills: int, restart: str = "", seed: int = 20) -> list[str]:
    """Kill the guard so often while its run hangs, is started again and finishes; what was done twice, or not at all. `restart`:
    that part of the policy."""
    with Receiver().listening() as receiver, demo(folder) as environ:
        (folder / "guard.toml").write_text(POLICY.format(folder=folder, url=receiver.url) + restart)
        lives: list[tuple[int, list[dict[str, Any]]]] = []
        lengths = random.Random(seed)
        until = time.monotonic() + LIMIT_S
        while (not lives or lives[-1][0] < 0) and time.monotonic() < until:
            may_end = len(lives) >= kills
            lives.append(_life(folder, environ, None if may_end else lengths.uniform(0.2, LONGEST_S)))
        told = [notice["title"].split(":")[1].strip() for notice in receiver.got]
    return list(_faults(folder, lives, told, kills))


def _life(folder: Path, environ: dict[str, str], length_s: float | None) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and events of one guard."""
    with (folder / "events.jsonl").open("a+b") as events, (folder / "journal").open("ab") as journal:
        begun = events.seek(0, 2)
        guard = subprocess.Popen(command("hang", folder), env=environ, cwd=folder, stdout=events, stderr=journal)
        try:
            guard.wait(LIMIT_S if length_s is None else length_s)
        except subprocess.TimeoutExpired:
            guard.send_signal(signal.SIGKILL)
            guard.wait()
        events.seek(begun)
        lines = events.read().splitlines(keepends=True)
    return guard.returncode, [json.loads(line) for line in lines if line.endswith(b"\n")]


def _faults(folder: Path, lives: list[tuple[int, list[dict[str, Any]]]], told: list[str], kills: int) -> Iterator[str]:
    """What is not as it should be. `deed` events are what was begun: one for each thing that the policy wants, however many
    guards there were."""
    begun = [(event["name"], event["deed"]) for _, life in lives for event in life if event["what"] == "deed"]
    code, deeds = lives[-1][0], Counter(begun)
    starts = (folder / "train.log").read_text(errors="replace").count(FIRST_LINE)
    if code != 0:
        yield f"the last guard ended with {code}"
    if len(lives) <= kills:
        yield f"the run was over after {len(lives)} guards"
    if twice := {what: times for what, times in deeds.items() if times > 1}:
        yield f"done twice: {twice}"
    if twice := {what: times for what, times in Counter(told).items() if times > 1}:
        yield f"told twice: {twice}"
    if starts != 2:
        yield f"started {starts} times"
