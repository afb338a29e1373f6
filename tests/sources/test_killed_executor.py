"""The executor is killed at every line of its action log: nothing is half done, the log is true, a second run finishes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import msgspec
import pytest

from hangtop.actions.execute import commands, delete_leftovers, terminate
from hangtop.actions.execute.executor import execute
from hangtop.probe.context import ProbeContext
from hangtop.probe.leftovers.leftover_places import LeftoverPlaces
from hangtop.probe.leftovers.leftovers_source import LeftoverSource
from hangtop.records.ask import LeftoversAsk
from hangtop.records.launch import Launch
from hangtop.records.plan import LeftoversReading, Plan, Removal, Start, Step, Target
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.processes.table import ProcessTable
from hangtop.system.stores import launch_store
from tests.fakes.processes import Family, end_group
from tests.fakes.started import end_run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

LATER_S = 3600.0
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
WILLING = "import time; print(flush=True); time.sleep(600)"
NEW = (sys.executable, "-c", "import time; time.sleep(600)", "--the-new-run")
QUICK = "terminate.RESTARTED_WITHIN_S = 0.0; commands.LIVES_S = 0.1"
KILLED_AT = f"""
import os, signal, sys, time
from hangtop.actions.execute import commands, delete_leftovers, executor, terminate
from hangtop.actions.execute.steps import ActionLog
from tests.fakes.processes import Family
{QUICK}
executor.open_table = lambda: Family(os.getppid())
delete_leftovers.clock.now = lambda: time.time() + {LATER_S}
left = int(sys.argv[1])
class Killed(ActionLog):
    def write(self, plan, step):
        global left
        super().write(plan, step)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
executor.ActionLog = Killed
executor.main()
"""


@pytest.fixture(autouse=True)
def _quick_and_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(terminate, "RESTARTED_WITHIN_S", 0.0)
    monkeypatch.setattr(commands, "LIVES_S", 0.1)


class Scene:
    """A run of two processes, a leftover file and folder, and a new run to start."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.segment, self.session = folder / "nccl-old", folder / "session_2026-01-10_08-00-00_123456_4242"
        (self.session / "logs").mkdir(parents=True)
        for file in (self.segment, self.session / "logs" / "raylet.out"):
            file.write_bytes(b"x" * 4096)
            file.chmod(0o600)
        self.old = [self._process(STUBBORN), self._process(WILLING)]

    def plan(self) -> Plan:
        """Made anew of what is there, as the same command would."""
        table = family()
        table.refresh(tuple(process.pid for process in self.old))
        stats = [table.stats[process.pid] for process in self.old if process.poll() is None]
        targets = tuple(Target(stat.pid, stat.start_ticks, 0.0, "python", stat.state) for stat in stats)
        start = None if self.new is not None else Start(NEW, str(self.folder), str(self.folder / "train.log"))
        return Plan("restart", "Restart", targets, grace_s=0.2, removals=self.leftovers(), start=start)

    def leftovers(self) -> tuple[Removal, ...]:
        places = LeftoverPlaces(shm=(str(self.folder),), ray=(str(self.folder),))
        ask = LeftoversAsk(1, 600.0)
        (found,) = LeftoverSource(ProbeContext(WatchSpec()), places, family()).answer(ask, time.time() + LATER_S)
        assert isinstance(found, LeftoversReading)
        return found.found

    @property
    def new(self) -> Launch | None:
        return launch_store.latest(str(self.folder / "train.log"))

    def close(self) -> None:
        for process in self.old:
            end_group(process)
        known = self.new
        if known is not None:
            end_run(known)

    def _process(self, program: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True)
        assert process.stdout is not None
        process.stdout.readline()
        return process


def family() -> ProcessTable:
    """A removal asks every process of the machine whether it holds what is left over; others are none of this test's business."""
    return cast("ProcessTable", Family())


def killed_at(line: int, plan: Plan) -> int:
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT, str(line)], input=msgspec.json.encode(plan), check=False, capture_output=True
    )
    return done.returncode


def told(folder: Path) -> list[str]:
    log = folder / "state" / "hangtop" / "actions.log"
    return [json.loads(line)["text"] for line in log.read_text().splitlines()]


def check(scene: Scene, said: list[str]) -> None:
    """What is gone was announced, what was told as done is done, and no file is half there."""
    for process in scene.old:
        gone = process.poll() is not None
        assert not gone or any(f"to pid {process.pid} " in line for line in said)
        assert gone or not any(f"pid {process.pid} " in line and line.endswith("ended") for line in said)
    for path in (scene.segment, scene.session):
        aside = list(scene.folder.glob(f".hangtop-clean-*/{path.name}"))
        assert len(aside) + path.exists() <= 1
        whole = [place for place in (path, *aside) if place.exists()]
        assert all((place / "logs" / "raylet.out").exists() for place in whole if place.is_dir())
        assert path.exists() or any(line.startswith(f"{path} is moved to") for line in said)
        assert bool(whole) or f"{path} is gone" in "\n".join(said) or any(path.name in line for line in said)
        assert not whole or not any(line.startswith(f"{path} is gone") for line in said)
    assert scene.new is None or any(line.startswith("starting ") for line in said)


def finish(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """The same again, from what is there now."""
    plan = scene.plan()
    monkeypatch.setattr(delete_leftovers.clock, "now", lambda: time.time() + LATER_S)
    try:
        return list(execute(plan, family()))
    finally:
        monkeypatch.undo()
        monkeypatch.setenv("XDG_STATE_HOME", str(scene.folder.parent / "state"))


@pytest.mark.parametrize("first", [1, 2, 3, 4])
def test_killed_at_any_line_nothing_is_half_done_and_a_second_run_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    """Every fourth line, from `first` on, until an executor reaches its end."""
    line, code = first, -signal.SIGKILL
    while code == -signal.SIGKILL:
        folder = tmp_path / str(line)
        folder.mkdir()
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        (folder / "work").mkdir()
        scene = Scene(folder / "work")
        try:
            code = killed_at(line, scene.plan())
            assert code in (0, -signal.SIGKILL)
            said = told(folder)
            assert code == 0 or len(said) == line
            check(scene, said)
            steps = finish(scene, monkeypatch)
            assert not [step for step in steps if step.kind in ("failed", "survived")], steps
            assert not any(process.poll() is None for process in scene.old)
            assert list(scene.folder.glob("nccl-*")) == list(scene.folder.glob("session_*")) == []
            assert list(scene.folder.glob(".hangtop-clean-*")) == []
            assert scene.new is not None
        finally:
            scene.close()
        line += 4
    assert line > 8
