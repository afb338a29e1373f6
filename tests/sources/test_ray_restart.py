"""Stop and restart one Ray session of two on a machine, and recover a hung run, on real clusters.

Slow: starting Ray takes 10 to 60 s here. Runs where Ray is installed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from hangtop.actions.execute.executor import execute
from hangtop.actions.plans import ray_plan as ray_action
from hangtop.probe.context import ProbeContext
from hangtop.probe.ray.ray_source import RaySource
from hangtop.records.ask import RayAsk
from hangtop.records.plan import OwnProcess, Plan, Refusal, Step
from hangtop.records.ray.session import RaySession
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from hangtop.system.processes.open_table import open_table
from tests.fakes.processes import PATIENCE_S
from tests.fakes.ray_cluster import PROGRAMS, RealRay, missing, real_ray, wait_for

pytestmark = [
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.xdist_group("ray"),  # one cluster at a time: each wants both cores of a small machine
    pytest.mark.timeout(1800),
]

ME = OwnProcess(os.getpid(), frozenset({os.getppid()}), os.geteuid())
NAMESAKE = "import time; print(flush=True); time.sleep(600)"


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@contextmanager
def namesake(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program of the person's own that `ray stop` would end for its name."""
    script = folder / "my_monitor.py"
    script.write_text(NAMESAKE)
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)
        process.stdout.close()


def described(ray: RealRay) -> tuple[RunState, RaySession]:
    """The state as the source tells it, and the session of this cluster in full."""
    source = RaySource(ProbeContext(WatchSpec(ray=ray.gcs_address)))
    state = RunState()
    try:
        for _ in range(3):
            for value in source.read(time.time()):
                state = fold(state, Reading("ray", os.uname().nodename, time.time(), value))
            time.sleep(1.0)
        name = ray_action.session_of(state, ME)
        assert isinstance(name, str), name
        (told,) = source.answer(RayAsk(1, name), time.time())
        assert isinstance(told, RaySession)
        return state, told
    finally:
        source.close()


def signalled(steps: list[Step]) -> set[int]:
    return {step.pid for step in steps if step.kind == "doing" and step.pid is not None}


def started_meanwhile(steps: list[Step]) -> dict[int, int]:
    """Processes that the plan's own started while they were being ended, by pid, with their parents: a raylet may start one more
    worker in that moment."""
    found = (re.match(r"pid (\d+) came meanwhile \(pid (\d+) started it", step.text) for step in steps)
    return {int(match[1]): int(match[2]) for match in found if match}


def test_one_of_two_clusters_is_restarted_and_all_else_lives_on(tmp_path: Path) -> None:
    with real_ray() as other, real_ray('--resources={"my tape": 2}') as ray, namesake(tmp_path) as foreign:
        bystander = other.run("fleet.py", "2", "1", until="FLEET HANGS")
        driver = ray.run("fleet.py", "3", "1", until="FLEET HANGS")
        theirs = {pid for pid in other.pids() if pid not in ray.pids()}
        state, told = described(ray)

        assert {process.pid for process in told.processes if process.kind == "driver"} == {driver.pid}
        assert {process.pid for process in told.processes}.isdisjoint({*theirs, foreign.pid, os.getpid()})
        refused = ray_action.plain_stop_refused(told, ME)
        assert isinstance(refused, Refusal)
        assert f"pid {foreign.pid} (for 'monitor.py' in it)" in refused.why or "and " in refused.why
        assert foreign.pid in {match.pid for match in told.matches}

        made = ray_action.restarted(state, told, ME)
        assert isinstance(made, Plan), made
        assert [target.wave for target in made.targets] == sorted(target.wave for target in made.targets)
        assert (made.targets[0].pid, made.targets[-1].role) == (driver.pid, "gcs server")
        steps = list(execute(made, open_table()))
        said = "\n".join(f"{step.kind}: {step.text}" for step in steps)

        assert not [step for step in steps if step.kind in ("failed", "survived")], said
        assert steps[-1].kind == "proof", said
        assert "2 my tape" in steps[-1].text
        assert signalled(steps) - started_meanwhile(steps).keys() <= {target.pid for target in made.targets}, said
        assert set(started_meanwhile(steps).values()) <= signalled(steps), said
        assert driver.wait(PATIENCE_S) is not None
        assert not Path(told.folder or "").exists(), said
        after = ray.pid_of("gcs_server")
        assert after not in {process.pid for process in told.processes}
        assert {pid for pid in theirs if Path(f"/proc/{pid}").exists()} >= {bystander.pid, other.pid_of("gcs_server")}
        assert bystander.poll() is None
        assert foreign.poll() is None
        ray.run("fleet.py", "2", "1", until="FLEET HANGS")


def test_the_token_is_needed_kept_for_us_alone_and_told_to_nobody(tmp_path: Path) -> None:
    secret = "b" * 64
    with real_ray(token=secret) as ray:
        old = ray.pid_of("gcs_server")
        command = [sys.executable, "-m", "hangtop", "ray", "restart", "--session", ray.gcs_address]
        dry = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, timeout=240, check=False)
        assert dry.returncode == 0, dry.stdout
        assert "nothing was done" in dry.stdout
        assert ray.pid_of("gcs_server") == old
        done = subprocess.run([*command, "--yes"], capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout
        assert "gcs_healthz 200" in done.stdout
        assert ray.pid_of("gcs_server") != old
        state = tmp_path / "state" / "hangtop"
        assert secret not in dry.stdout + done.stdout + done.stderr + (state / "actions.log").read_text()
        assert [path for path in (state / "runs").iterdir() if secret in path.read_text()] == []
        described_again, told = described(ray)
        assert secret not in repr(told) + msgspec.json.encode(told).decode() + repr(described_again)
        kept = [path for path in (state / "runs").iterdir() if secret in path.read_text()]
        assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
        assert [str(path) for path in kept] == [start.environ_file for start in told.starts]
        hidden = leaves_nothing_that_leads_to_it(ray)
    for _ in range(AGAIN if hidden else 0):
        with real_ray() as another:
            if not (hidden := leaves_nothing_that_leads_to_it(another)):
                break
    assert not hidden


AGAIN = 2


def until_each_process_tells() -> None:
    """Other tests make processes that cannot be looked into for a while: as long as one is there, what Ray left is left alone."""
    look = "cat /proc/[0-9]*/maps /proc/[0-9]*/environ; ls -l /proc/[0-9]*/fd"
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        process = subprocess.Popen(["sh", "-c", look], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(2.0)
            return
        except subprocess.TimeoutExpired:
            process.kill()
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.2)


def hidden_process(said: str) -> str:
    """A process of another test that could not be looked into, with what the kernel tells of it; empty if there was none. It may
    hold the folder, which rightly stays then."""
    if (found := re.search(r"pid (\d+) \(.*\) of ours cannot be looked into", said)) is None:
        return ""
    told = (line for name in ("status", "cmdline", "wchan") for line in _first_lines(Path("/proc", found[1], name)))
    return f"{found[0]}: {' '.join(told) or 'it has ended since'}"


def _first_lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").replace("\0", " ").splitlines()[:4]
    except OSError:
        return []


def leaves_nothing_that_leads_to_it(ray: RealRay) -> str:
    """Once it is stopped, a program that asks for CPUs gets a Ray of its own, and does not try to join the one that is gone. The
    process of another test for which its folder had to stay, if there was one: nothing is proven then."""
    place = ray.folder / "r"
    assert (place / "ray_current_cluster").read_text() == ray.gcs_address
    until_each_process_tells()
    command = [sys.executable, "-m", "hangtop", "ray", "stop", "--session", ray.gcs_address, "--yes"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout
    if hidden := hidden_process(done.stdout):
        return hidden
    assert not (place / "ray_current_cluster").exists(), done.stdout
    assert not (place / "session_latest").is_symlink(), done.stdout
    program = f"import ray; ray.init(num_cpus=1, include_dashboard=False, _temp_dir={str(place)!r}); print('UP')"
    started = subprocess.run(
        [sys.executable, "-c", program], env=ray.environ, cwd=ray.folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert "UP" in started.stdout, started.stderr[-2000:]
    return ""


def test_a_ray_that_has_died_is_started_again_with_what_was_seen_while_it_lived() -> None:
    with real_ray('--resources={"tape": 3}') as ray:
        source = RaySource(ProbeContext(WatchSpec(ray=ray.gcs_address)))
        try:
            state = RunState()
            for value in source.read(time.time()):
                state = fold(state, Reading("ray", os.uname().nodename, time.time(), value))
            killed = {ray.pid_of(name) for name in ("raylet", "gcs_server")}
            for pid in killed:
                ray.signal(pid, signal.SIGKILL)
            wait_for(lambda: killed.isdisjoint(ray.pids()), PATIENCE_S)
            for value in source.read(time.time()):
                state = fold(state, Reading("ray", os.uname().nodename, time.time(), value))
            name = ray_action.session_of(state, ME)
            assert isinstance(name, str), name
            (told,) = source.answer(RayAsk(1, name), time.time())
        finally:
            source.close()
        assert isinstance(told, RaySession)
        assert not {"raylet", "gcs_server"} & {process.kind for process in told.processes}
        made = ray_action.restarted(state, told, ME)
        assert isinstance(made, Plan), made
        steps = list(execute(made, open_table()))
        said = "\n".join(f"{step.kind}: {step.text}" for step in steps)
        assert steps[-1].kind == "proof", said
        assert "3 tape" in steps[-1].text


def test_a_session_of_ray_init_is_left_to_its_driver() -> None:
    with local_run() as (ray, driver):
        source = RaySource(ProbeContext(WatchSpec()))
        try:
            source.read(time.time())
            list(source.read(time.time()))
            found = [d.session for d in source._here.daemons if d.kind == "raylet" and d.pid in ray.pids()]
            (told,) = source.answer(RayAsk(1, found[0]), time.time())
        finally:
            source.close()
        assert isinstance(told, RaySession)
        assert told.holder == driver.pid
        refused = ray_action.restarted(RunState(), told, ME)
        assert isinstance(refused, Refusal)
        assert "ray.init()" in refused.why
        assert isinstance(ray_action.stopped(RunState(), told, ME), Plan)


@contextmanager
def local_run() -> Iterator[tuple[RealRay, subprocess.Popen[bytes]]]:
    """A driver that starts its own Ray."""
    ray = RealRay()
    code = (
        f"import ray, time; ray.init(_temp_dir={str(ray.folder / 'r')!r}, num_cpus=1); print('UP', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=ray.environ, cwd=ray.folder, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    try:
        assert b"UP" in process.stdout.readline()
        yield ray, process
    finally:
        ray.close()
        process.wait(PATIENCE_S)
        process.stdout.close()


def test_a_hung_run_on_ray_is_recovered_in_one_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hangs at its third step; after the recovery a new attempt is in training on a new Ray, whose workers have the variable
    that a restart of the driver alone would not give them. The seconds are printed."""
    with real_ray() as ray:
        log, flag = ray.folder / "train.log", ray.folder / "flag"
        argv = [sys.executable, str(PROGRAMS / "verl_like.py"), str(flag), "4", "2"]
        environ = ray.environ | {"RAY_ADDRESS": ray.gcs_address}
        with log.open("wb") as output:
            run = subprocess.Popen(argv, stdout=output, stderr=output, cwd=ray.folder, env=environ, start_new_session=True)
        ray._started.append(run)
        wait_for(lambda: b"step:2 " in log.read_bytes(), 300)
        time.sleep(6.0)
        old = ray.pid_of("gcs_server")
        began = time.monotonic()
        watch = ["--log", str(log), "--stall", "20", "--env", "NCCL_IB_DISABLE=1"]
        command = [sys.executable, "-m", "hangtop", "restart", *watch]
        plan = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=tmp_path, check=False)
        assert "NCCL_IB_DISABLE: for the driver alone, its workers are started by Ray, which goes on as it was" in plan.stdout
        command = [sys.executable, "-m", "hangtop", "recover", *watch, "--yes"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=800, cwd=tmp_path, check=False)
        took_s = time.monotonic() - began
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr
        with capsys.disabled():
            print(f"\nfull recovery of a hung run: {took_s:.1f} s\n{_timeline(tmp_path)}")
        assert run.wait(PATIENCE_S) is not None
        assert ray.pid_of("gcs_server") != old
        assert "it has passed stage" in done.stdout
        assert list(tmp_path.glob("hangtop-*.tar.gz"))
        assert "WorkerDict" in next(tmp_path.glob("hangtop-*-stacks.txt")).read_text() or "hang" in done.stdout
        wait_for(lambda: log.read_bytes().count(b"step:3 ") == 1, 300)
        environs = [_environ(pid) for pid in ray.pids()]
        assert b"NCCL_IB_DISABLE=1" in _environ(ray.pid_of("raylet"))
        assert {b"NCCL_IB_DISABLE=1" in environ for environ in environs if b"RANK=2" in environ} == {True}


RECOVERS = """
[[when]]
event = ["hung", "stalled"]
confidence = "possible"
do = ["bundle", "recover"]
[restart]
most = 1
"""


@pytest.mark.skipif("LONG_TESTS" not in os.environ, reason="four minutes of a real Ray: LONG_TESTS=1 runs it")
def test_a_guard_recovers_a_hung_run_on_ray_with_nobody_there(tmp_path: Path) -> None:
    """As above; who starts the run, sees that it hangs, recovers it and watches it to its end is a guard."""
    with real_ray() as ray:
        log, flag, policy = ray.folder / "train.log", ray.folder / "flag", tmp_path / "guard.toml"
        policy.write_text(f"keep = '{tmp_path}'\n{RECOVERS}")
        run = [sys.executable, str(PROGRAMS / "verl_like.py"), str(flag), "4", "2"]
        options = ["--log", str(log), "--stall", "20", "--policy", str(policy)]
        environ = ray.environ | {"RAY_ADDRESS": ray.gcs_address}
        command = [sys.executable, "-m", "hangtop", "guard", *options, "--", *run]
        old = ray.pid_of("gcs_server")
        done = subprocess.run(command, cwd=ray.folder, env=environ, capture_output=True, text=True, timeout=1500, check=False)
        assert done.returncode == 0, done.stderr[-6000:]
        events = [json.loads(line) for line in done.stdout.splitlines()]
        told = [(event["deed"], event["went"]) for event in events if event["what"] == "outcome"]
        assert told == [("bundle", True), ("recover", True)], done.stderr[-6000:]
        assert [event["name"] for event in events if event["what"] == "verdict"][-1] == "finished"
        assert ray.pid_of("gcs_server") != old
        assert log.read_bytes().count(b"step:4 ") == 1


def _environ(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone meanwhile
        return []


def _timeline(folder: Path) -> str:
    lines = [json.loads(line) for line in (folder / "state" / "hangtop" / "actions.log").read_text().splitlines()]
    first = lines[0]["at"]
    return "\n".join(
        f"{line['at'] - first:7.1f}  {line['kind']:<9} {line['text'][:110]}" for line in lines if not line.get("pid")
    )
