"""The demo is a real run: real processes, a real hang, and nothing left of it however hangtop ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from hangtop.cli.commands import demo as command
from hangtop.cli.commands.check import verdict_once
from hangtop.demo.demo_run import DemoRun, demo_folder
from hangtop.demo.scenario import DemoError, Scenario, scenario, scenarios
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.records.watch_spec import WatchSpec

LIMIT_S = 180.0


def wait_for(what: Callable[[], bool]) -> None:
    ends = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < ends, "a bound against hanging tests was passed"
        time.sleep(0.05)


def members(group: int) -> list[int]:
    """Pids of the process group that still run (zombies wait for whoever inherited them)."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def said_of(run: DemoRun) -> tuple[str, list[int | None]]:
    """What `hangtop check` says of it, and whom it blames."""
    spec = WatchSpec(logs=(str(run.log),), stall_s=run.scenario.stall_s)
    _, verdict = asyncio.run(verdict_once(ProbeFeed(spec), spec, None))
    return verdict.word, [culprit.rank for culprit in verdict.culprits]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], DemoRun]]:
    runs: list[DemoRun] = []

    def begin(name: str) -> DemoRun:
        runs.append(DemoRun(scenario(name), tmp_path))
        return runs[-1]

    yield begin
    for run in runs:
        run.stop()


def test_the_default_run_hangs_for_real_while_one_rank_never_arrives(start: Callable[[str], DemoRun]) -> None:
    run = start("hang")
    last = scenario("hang").step - 1
    wait_for(lambda: run.log.read_text().count(f"step {last}/40") == 8)
    size = run.log.stat().st_size
    time.sleep(2)
    assert run.log.stat().st_size == size
    assert len(members(run.pid)) == 9
    assert run.exit_code() is None
    wait_for(lambda: said_of(run) == ("hung", [3]))


def test_every_rank_says_which_rank_it_is_and_goes_through_all_stages(start: Callable[[str], DemoRun]) -> None:
    run = start("hang")
    wait_for(lambda: "step 2/40" in run.log.read_text())
    text = run.log.read_text()
    for rank in range(8):
        own = [line for line in text.splitlines() if line.startswith(f"[rank{rank}]: ")]
        stages = [
            "building dataset",
            "initializing process group",
            "process group ready",
            "loading model: checkpoint shard 1/4",
            "step 1/40",
        ]
        order = [next(number for number, line in enumerate(own) if stage in line) for stage in stages]
        assert order == sorted(order)


def test_the_healthy_run_finishes_with_exit_code_0(start: Callable[[str], DemoRun]) -> None:
    run = start("healthy")
    wait_for(lambda: run.exit_code() is not None)
    assert run.exit_code() == 0
    assert run.log.read_text().count("training finished") == 8
    assert not members(run.pid)


def test_the_crash_prints_a_traceback_and_the_launcher_exits_with_1_like_torchrun(start: Callable[[str], DemoRun]) -> None:
    run = start("crash")
    wait_for(lambda: run.exit_code() is not None)
    text = run.log.read_text()
    assert run.exit_code() == 1
    assert "[rank2]: Traceback (most recent call last):" in text
    assert "ShardError: rank2_shard0000.bin: checksum mismatch" in text
    assert "failed (exitcode: 1) local_rank: 2" in text
    assert not members(run.pid)
    wait_for(lambda: said_of(run) == ("crashed", [2]))


def test_the_slow_run_is_silent_while_its_checkpoint_grows(start: Callable[[str], DemoRun]) -> None:
    run = start("slow")
    wait_for(lambda: "saving checkpoint" in run.log.read_text() and run.log.read_text().count("step 10/20") == 6)
    model = run.log.parent / "data" / "checkpoint-10" / "model.bin"
    wait_for(model.exists)
    lines, size = run.log.read_text(), model.stat().st_size
    wait_for(lambda: model.stat().st_size > size)
    wait_for(lambda: time.time() - run.log.stat().st_mtime > run.scenario.stall_s)
    assert run.log.read_text() == lines
    wait_for(lambda: said_of(run) == ("slow", []))


def test_the_laggard_falls_behind_and_all_others_wait_for_it(start: Callable[[str], DemoRun]) -> None:
    run = start("laggard")
    wait_for(lambda: run.log.read_text().count("step 10/30") == 8)
    lines = run.log.read_text().splitlines()
    at = {rank: next(n for n, line in enumerate(lines) if f"[rank{rank}]" in line and "step 9/30" in line) for rank in range(8)}
    assert max(at, key=lambda rank: at[rank]) == 5
    waited = [line for line in lines if "step 10/30" in line and "[rank5]" not in line]
    assert all(int(line.rpartition("(")[2].split()[0]) >= 2000 for line in waited)


def test_stop_leaves_no_process_and_may_be_called_again(start: Callable[[str], DemoRun]) -> None:
    run = start("hang")
    wait_for(lambda: "process group ready" in run.log.read_text())
    run.stop()
    wait_for(lambda: not members(run.pid))
    run.stop()


def test_stop_also_ends_processes_that_were_stopped(start: Callable[[str], DemoRun]) -> None:
    run = start("hang")
    wait_for(lambda: "process group ready" in run.log.read_text())
    os.killpg(run.pid, signal.SIGSTOP)
    run.stop()
    wait_for(lambda: not members(run.pid))


PARENT = """
import sys, time
from pathlib import Path
from hangtop.demo.demo_run import DemoRun
from hangtop.demo.scenario import scenario
print(DemoRun(scenario("hang"), Path(sys.argv[1])).pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_no_process_outlives_the_hangtop_that_started_it(tmp_path: Path, how: signal.Signals, stopped: bool) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert parent.stdout is not None
        group = int(parent.stdout.readline())
        wait_for(lambda: "process group ready" in (tmp_path / "hang.log").read_text())
        assert len(members(group)) == 9
        if stopped:
            os.killpg(group, signal.SIGSTOP)
        parent.send_signal(how)
        wait_for(lambda: not members(group))
    finally:
        parent.kill()
        parent.wait()
        assert parent.stdout is not None
        parent.stdout.close()


def test_ranks_end_with_their_launcher_when_a_person_stops_it(start: Callable[[str], DemoRun]) -> None:
    run = start("hang")
    wait_for(lambda: "process group ready" in run.log.read_text())
    os.kill(run.pid, signal.SIGTERM)
    wait_for(lambda: run.exit_code() is not None)
    assert run.exit_code() == 128 + signal.SIGTERM
    assert not members(run.pid)


@pytest.mark.parametrize("part", ["launcher", "demo_rank"])
def test_a_part_started_by_hand_says_where_it_belongs_and_ends(part: str, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", f"hangtop.demo.{part}", "hang", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 1
    assert done.stderr == "this is a part of `hangtop demo`, which starts it and ends it: run that instead\n"


@pytest.mark.parametrize("plan", scenarios(), ids=lambda plan: plan.name)
def test_every_scenario_is_of_the_promised_size_and_shortens_the_limit(plan: Scenario) -> None:
    assert 4 <= plan.world <= 8
    assert plan.stall_s < 120
    assert plan.name in command.listing()


def test_an_unknown_scenario_is_one_line_that_names_those_there_are() -> None:
    with pytest.raises(DemoError, match=r"^no demo scenario 'bogus'; there are: hang, healthy, slow, crash, laggard$"):
        scenario("bogus")


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DemoError, match="the demo cannot start in"):
        DemoRun(scenario(), tmp_path / "file")


def test_the_command_watches_the_log_with_a_short_limit_and_cleans_up() -> None:
    seen: list[DemoRun] = []

    def show(spec: WatchSpec, run: DemoRun, notice: str) -> int:
        seen.append(run)
        assert spec == WatchSpec(logs=(str(run.log),), stall_s=10.0, profile="torchrun")
        assert "stall limit 10 s instead of 120 s" in notice
        wait_for(run.log.exists)
        return 7

    assert command.run("healthy", show, WatchSpec(profile="torchrun")) == 7
    assert not seen[0].log.parent.exists()
    wait_for(lambda: not members(seen[0].pid))


def test_a_limit_asked_for_on_the_command_line_stands() -> None:
    assert command.watch(scenario(), Path("a.log"), WatchSpec(stall_s=33.0)).stall_s == 33.0


def test_the_command_cleans_up_when_showing_fails() -> None:
    seen: list[DemoRun] = []

    def show(spec: WatchSpec, run: DemoRun, notice: str) -> int:
        seen.append(run)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        command.run("hang", show)
    wait_for(lambda: not members(seen[0].pid))


def test_the_folder_that_a_killed_demo_left_behind_goes_with_the_next_one_and_a_living_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangtop = subprocess.Popen(
        [sys.executable, "-m", "hangtop", "demo", "hang", "--plain"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for(lambda: bool(list(tmp_path.glob("hangtop-demo-*/*.log"))))
        left = next(tmp_path.glob("hangtop-demo-*"))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        with demo_folder():
            assert left.is_dir()
    finally:
        hangtop.kill()
        hangtop.wait()
    assert left.is_dir()

    def the_next_removes_it() -> bool:
        with demo_folder() as own:
            assert own.is_dir()
        assert not own.exists()
        return not left.exists()

    wait_for(the_next_removes_it)  # processes that the kernel is ending may still hold it, or write there
