"""Weights that are saved before a stop, by a real process that agreed to be asked: it ends only once they are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hangtop.actions.execute.executor import execute
from hangtop.actions.plans.saving import saved_first, saving
from hangtop.records.plan import Plan, Target
from hangtop.records.process import Process
from hangtop.system.processes.open_table import open_table
from tests.fakes.processes import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the agent is found by /proc")

WRITES = "open(arguments['path'] + 'weights', 'w').write('41'); print('saved')"


@pytest.fixture
def asked() -> Iterator[subprocess.Popen[bytes]]:
    program = "import hangtop.agent, time; print(flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@pytest.fixture
def snippets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's own ones."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "hangtop" / "snippets"
    folder.mkdir(parents=True)
    return folder


def plan(pid: int, folder: Path, newest_ticks: int | None = None) -> Plan:
    table = open_table()
    table.refresh((pid,))
    ticks = table.stats[pid].start_ticks
    known = Process(pid, 0.0, ticks, 1, "python", "python", "S", can_be_asked=True)
    offer = saving([known], ticks if newest_ticks is None else newest_ticks)
    target = Target(pid, ticks, 0.0, "a run", "S")
    return saved_first(Plan("stop", "Stop", (target,), grace_s=20.0, saving=offer), str(folder))


def test_a_run_ends_once_its_weights_are_saved(asked, snippets: Path, tmp_path: Path):
    (snippets / "checkpoint.py").write_text(WRITES)
    steps = list(execute(plan(asked.pid, tmp_path), open_table()))
    assert (tmp_path / "weights").read_text() == "41"
    assert [step.kind for step in steps if step.text.startswith("weights: saved")] == ["done"]
    assert asked.wait(PATIENCE_S) == -15


def test_a_run_whose_weights_cannot_be_saved_is_left_alone(asked, snippets: Path, tmp_path: Path):
    (snippets / "checkpoint.py").write_text("raise OSError('no room')")
    steps = list(execute(plan(asked.pid, tmp_path), open_table()))
    assert steps[-1].kind == "failed"
    assert steps[-1].text.startswith("nothing was signalled or started: weights: exit code 1")
    assert asked.poll() is None


def test_a_process_that_started_after_the_plan_is_not_asked(asked, snippets: Path, tmp_path: Path):
    (snippets / "checkpoint.py").write_text(WRITES)
    steps = list(execute(plan(asked.pid, tmp_path, newest_ticks=1), open_table()))
    assert "another process by now" in steps[-1].text
    assert not (tmp_path / "weights").exists()
    assert asked.poll() is None
