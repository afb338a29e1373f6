"""A recovery without Ray, on real processes: evidence first, then stop, start and watch; broken off between any two of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hangtop.actions.execute.executor import execute
from hangtop.actions.execute.steps import ActionLog, CancelFlag, log_path
from hangtop.probe.leftovers.open_handles import open_handles
from hangtop.records import wire
from hangtop.records.plan import EvidenceCommand, Plan, Start, Step, Target, Watch
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.processes.open_table import open_table
from hangtop.system.stores import launch_store
from tests.fakes.processes import PATIENCE_S, end_group, eventually, python, running
from tests.fakes.started import end_run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

OLD = "import time; print(flush=True); time.sleep(600)"
NEW = """
import sys, time
print("MyTrainer v2", flush=True)
for name in sys.argv[1:]:
    print(name, flush=True)
    time.sleep(0.5)
while True:
    print("a batch was written", flush=True)
    time.sleep(0.5)
"""
PROFILE = """
schema = 1
name = "mytrainer"
title = "my trainer"
[[detect]]
literal = "MyTrainer v"
weight = 5
[[stage]]
id = "dataset"
title = "shards"
  [[stage.enter]]
  literal = ["opening shards"]
  example = "opening shards"
[[stage]]
id = "model_load"
title = "weights"
  [[stage.enter]]
  literal = ["loading weights"]
  example = "loading weights"
"""
ORDER = ("dataset", "model_load")


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def old() -> Iterator[subprocess.Popen[bytes]]:
    with python(OLD, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process


@pytest.fixture
def plan_for(tmp_path: Path, old: subprocess.Popen[bytes]) -> Iterator[Callable[..., Plan]]:
    """A plan that ends the old run and starts one that prints these lines; what was started is ended with the test."""
    log, profile = tmp_path / "train.log", tmp_path / "mytrainer.toml"
    log.write_text("MyTrainer v2\nopening shards\nloading weights\n")  # the old run got further: that must not count
    profile.write_text(PROFILE)

    def make(*lines: str, deadline_s: float = PATIENCE_S) -> Plan:
        table = open_table()
        table.refresh((old.pid,))
        target = Target(old.pid, table.stats[old.pid].start_ticks, 0.0, "old run", "S")
        return Plan(
            "recover",
            "Recover the run",
            targets=(target,),
            grace_s=20.0,
            evidence=(
                EvidenceCommand(("no-such-command",), "broken", PATIENCE_S),
                EvidenceCommand(("explain", "CUDA out of memory"), "explain", PATIENCE_S, str(tmp_path / "explained.txt")),
            ),
            start=Start((sys.executable, "-c", NEW, *lines), str(tmp_path), str(log), attempt=2),
            watch=Watch((str(log),), "dataset", "shards", ORDER, profile=str(profile), deadline_s=deadline_s),
        )

    yield make
    known = launch_store.latest(str(log))
    if known is not None:
        end_run(known)


def told(steps: list[Step]) -> str:
    return "\n".join(f"{step.kind}: {step.text}" for step in steps)


def test_evidence_that_fails_holds_nothing_up_and_the_new_run_is_seen_to_pass(plan_for, old, tmp_path: Path) -> None:
    steps = list(execute(plan_for("opening shards", "loading weights"), open_table()))
    said = told(steps)
    assert "skipped: broken: exit code 2" in said
    assert f"done: explain: {tmp_path / 'explained.txt'}" in said
    assert "memory" in (tmp_path / "explained.txt").read_text()
    assert old.wait(PATIENCE_S) == -signal.SIGTERM
    assert "done: stage shards" in said
    assert steps[-1].kind == "proof"
    assert "it has passed stage shards" in steps[-1].text


def test_a_run_that_does_not_pass_in_time_is_said_and_goes_on(plan_for, tmp_path: Path) -> None:
    steps = list(execute(plan_for("opening shards", deadline_s=6.0), open_table()))
    assert steps[-1].kind == "survived", told(steps)
    assert "not yet: within 6s it has not passed stage shards" in steps[-1].text
    known = launch_store.latest(str(tmp_path / "train.log"))
    assert known is not None
    assert known.exit_code is None


@pytest.mark.parametrize(
    ("until", "ended", "started"),
    [
        (lambda step: step.text.startswith("explain, within"), False, False),
        (lambda step: step.text.startswith("SIGTERM"), True, False),
        (lambda step: step.text.startswith("watching"), True, True),
    ],
)
def test_broken_off_between_two_parts_the_log_tells_what_was_done(plan_for, old, tmp_path: Path, until, ended, started) -> None:
    halt, plan, journal = CancelFlag(), plan_for("opening shards"), ActionLog()
    for step in execute(plan, open_table(), halt):
        journal.write(plan, step)
        if until(step):
            halt.ask()
    if ended:
        old.wait(PATIENCE_S)
    assert (old.poll() is not None) is ended
    assert (launch_store.latest(str(tmp_path / "train.log")) is not None) is started
    logged = [json.loads(line) for line in log_path().read_text().splitlines()]
    assert any(entry["text"].startswith("SIGTERM") for entry in logged) is ended
    assert any(entry["text"].endswith("runs") and entry["kind"] == "proof" for entry in logged) is started
    assert logged[-1]["kind"] == "failed"
    assert "broken off as asked" in logged[-1]["text"]
    if not ended:
        end_group(old)


def test_what_only_hangtop_itself_reads_is_not_in_use(tmp_path: Path) -> None:
    """Its probe follows the output files of a Ray session, whose folder a restart of Ray removes."""
    log = tmp_path / "worker.out"
    log.write_text("step 1\n")
    with running(sys.executable, "-m", "hangtop.probe", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as probe:
        probe.stdin.write(wire.encode(WatchSpec(logs=(str(log),), sources=("log",))))
        probe.stdin.flush()
        eventually(lambda: str(log) in {os.path.realpath(link) for link in Path(f"/proc/{probe.pid}/fd").iterdir()}, "the look")
        inside = {(path.stat().st_dev, path.stat().st_ino): path.name for path in (tmp_path, log)}
        found = open_handles(open_table(), [str(tmp_path)])
        assert found.holder(str(tmp_path), inside) is None
    with log.open(), python(OLD, cwd=tmp_path):
        assert open_handles(open_table(), [str(tmp_path)]).holder(str(tmp_path), inside) is not None
