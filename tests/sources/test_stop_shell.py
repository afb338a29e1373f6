"""`hangtop stop` from the shell on real runs: stubborn, supervised, blocked in the kernel, of several users, beside others."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.frozen_disk import frozen_disk
from tests.fakes.nvml.stand_in import StandInDriver
from tests.fakes.processes import PATIENCE_S, eventually, python
from tests.fakes.runs import RANK, RANKS, hangtop, quiet_port, run_of

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
NOBODY = 65534


@pytest.fixture(autouse=True)
def _own_action_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def state_of(pid: int) -> str:
    """The letter of its first thread."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def alive(pid: int) -> bool:
    try:
        return state_of(pid) not in "ZX" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_sixteen_stubborn_ranks_go_and_everything_beside_them_stays(tmp_path: Path) -> None:
    """A second run, a monitor whose name looks like one of Ray's, and the launcher's port."""
    monitor = tmp_path / "my_monitor.py"
    monitor.write_text("import time; print(flush=True); time.sleep(600)")
    port = quiet_port()
    beside = run_of(tmp_path / "other.log", "willing", "willing", MASTER_PORT=str(quiet_port()))
    with (
        run_of(tmp_path / "train.log", "listening", *["stubborn"] * 15, launcher="stubborn", MASTER_PORT=str(port)) as run,
        beside as other,
        python(f"exec(open({str(monitor)!r}).read())", "--log", str(run.log), stdout=subprocess.PIPE) as foreign,
    ):
        shown = hangtop("stop", "--log", str(run.log), "--dry-run")
        assert shown.returncode == 0, shown.stderr
        assert "Stop the run: 17 processes" in shown.stdout
        assert all(map(alive, run.ranks))
        done = hangtop("stop", "--log", str(run.log), "--yes")
        assert done.returncode == 0, done.stdout
        assert done.stdout.count("SIGKILL to pid") == 17
        assert "all 17 processes of the plan are gone" in done.stdout
        assert f"port {port} is free" in done.stdout
        assert not any(map(alive, (*run.ranks, run.process.pid)))
        assert all(map(alive, (*other.ranks, other.process.pid, foreign.pid)))
        again = hangtop("stop", "--log", str(run.log), "--yes")
        assert again.returncode == 2, again.stdout


def test_one_rank_that_its_launcher_starts_again_is_told_with_who_does_it(tmp_path: Path) -> None:
    with run_of(tmp_path / "train.log", "willing", "willing", launcher="supervisor") as run:
        done = hangtop("stop", "--log", str(run.log), "--rank", "1", "--yes")
        assert done.returncode == 1, done.stdout
        assert f"pid {run.process.pid} (python" in done.stdout
        assert "restarts it; stop that first" in done.stdout
        assert alive(run.ranks[0])


@needs_root
def test_a_rank_of_another_user_is_left_and_named(tmp_path: Path) -> None:
    with run_of(tmp_path / "train.log", "willing", "willing", users={1: NOBODY}) as run:
        shown = hangtop("stop", "--log", str(run.log))
        assert f"pid {run.ranks[1]} sleep" in shown.stdout
        assert "it belongs to nobody" in shown.stdout
        done = hangtop("stop", "--log", str(run.log), "--yes")
        assert done.returncode == 1, done.stdout
        assert f"pid {run.ranks[1]} rank 1: it belongs to nobody: only they or root can end it" in done.stdout
        assert not alive(run.ranks[0])
        assert alive(run.ranks[1])


def test_a_killable_wait_in_the_kernel_is_told_before_and_ends_by_kill(tmp_path: Path) -> None:
    with run_of(tmp_path / "train.log", "willing", "vfork") as run:
        eventually(lambda: state_of(run.ranks[1]) == "D", "state D")
        shown = hangtop("stop", "--log", str(run.log))
        assert f"pid {run.ranks[1]} is blocked in" in shown.stdout
        done = hangtop("stop", "--log", str(run.log), "--yes")
        assert f"SIGKILL to pid {run.ranks[1]} rank 1" in done.stdout
        assert not alive(run.ranks[1])


def test_a_rank_in_true_d_state_is_told_before_and_named_after(tmp_path: Path) -> None:
    where = {"FROZEN": str(tmp_path / "disk" / "ckpt.pt")}
    with frozen_disk(tmp_path) as frozen, run_of(tmp_path / "train.log", "willing", "frozen", **where) as run:
        eventually(lambda: state_of(run.ranks[1]) == "D", "state D")
        shown = hangtop("stop", "--log", str(run.log))
        assert "no signal reaches it" in shown.stdout
        done = hangtop("stop", "--log", str(run.log), "--yes")
        assert done.returncode == 1, done.stdout
        assert f"pid {run.ranks[1]} rank 1: blocked in the kernel" in done.stdout
        assert "only a reboot ends it" in done.stdout
        assert "processes of the plan are gone" not in done.stdout
        assert not alive(run.ranks[0])
        subprocess.run(["fsfreeze", "-u", str(frozen)], check=True)
        eventually(lambda: not alive(run.ranks[1]), "the end of what was killed meanwhile")


def test_a_rank_whose_first_thread_has_ended_is_stopped_with_the_rest(tmp_path: Path) -> None:
    with run_of(tmp_path / "train.log", "willing", "headless") as run:
        eventually(lambda: state_of(run.ranks[1]) == "Z", "the end of its first thread")
        shown = hangtop("stop", "--log", str(run.log))
        assert "Stop the run: 3 processes" in shown.stdout
        assert "dead already" not in shown.stdout
        done = hangtop("stop", "--log", str(run.log), "--yes")
        assert done.returncode == 0, done.stdout
        assert not alive(run.ranks[1])


def test_a_run_of_one_process_without_its_first_thread_is_known(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    program = RANK + RANKS["headless"]
    with log.open("wb") as out, python(program, stdout=out, env={**os.environ, "RANK": "0"}) as trainer:
        eventually(lambda: state_of(trainer.pid) == "Z", "the end of its first thread")
        done = hangtop("stop", "--log", str(log), "--yes")
        assert done.returncode == 0, done.stdout
        assert "the process of the plan is gone" in done.stdout
        assert trainer.wait(PATIENCE_S) < 0


NEVER_REAPS = """
import os, subprocess, sys, time
log = sys.argv[1]
subprocess.run(["setsid", "--fork", sys.executable, "-c", os.environ["LAUNCHER_PROGRAM"]], stdout=open(log, "wb"))
while open(log).read().count(" up") < 2:
    time.sleep(0.05)
for words in (["--dry-run"], ["--yes"], ["--dry-run"]):
    command = [sys.executable, "-m", "hangtop", "stop", "--log", log, *words]
    print(subprocess.run(command, capture_output=True, text=True).stdout, flush=True)
    if words == ["--dry-run"]:
        print("=====", flush=True)
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare(1) for a pid namespace")
def test_zombies_that_a_bad_pid_1_does_not_reap_are_told_and_hold_nothing(tmp_path: Path) -> None:
    """As in a container whose first process is `sleep infinity`: everything that ends stays in the table."""
    from tests.fakes.runs import LAUNCHER

    environ = {
        **os.environ, "LAUNCHER_PROGRAM": LAUNCHER, "RANK_willing": RANK + RANKS["willing"], "WAYS": "willing willing",
        "USERS": "- -", "MASTER_PORT": "29500",
    }  # fmt: skip
    command = [
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        sys.executable,
        "-c",
        NEVER_REAPS,
        str(tmp_path / "train.log"),
    ]
    told = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=240)
    before, _, after = told.stdout.partition("=====")
    assert "Stop the run: 3 processes" in before, told.stderr
    assert "all 3 processes of the plan are gone" in after
    assert "parent pid 1 does not reap it: zombie, holds nothing; a container needs an init (docker run --init)" in after


REUSED = """
import msgspec, os, signal, subprocess, sys, time
from hangtop.actions.execute.executor import execute
from hangtop.records.plan import Plan, Target
from hangtop.system.processes.open_table import open_table
sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
first = subprocess.Popen(sleeper, start_new_session=True)
table = open_table()
table.refresh((first.pid,))
plan = Plan("stop", "Stop", (Target(first.pid, table.stats[first.pid].start_ticks, 0.0, "python", "S"),))
os.kill(first.pid, signal.SIGKILL)
first.wait()
time.sleep(0.05)
with open("/proc/sys/kernel/ns_last_pid", "w") as last:
    last.write(str(first.pid - 1))
second = subprocess.Popen(sleeper, start_new_session=True)
print(second.pid == first.pid)
print(*(step.text for step in execute(plan, open_table())), sep="; ")
print(second.poll())
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare(1) for a pid namespace")
def test_a_pid_that_the_kernel_has_given_to_another_process_gets_no_signal() -> None:
    """In a pid namespace of its own, where the next pid can be set."""
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-c", REUSED]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    same, steps, state = told.stdout.splitlines()
    assert (same, state) == ("True", "None"), told.stderr
    assert "its pid belongs to another process now" in steps
    assert "SIGTERM" not in steps


def test_shared_memory_that_a_kill_leaves_is_named(tmp_path: Path) -> None:
    segment = Path(f"/dev/shm/nccl-hangtop-test-{os.getpid()}")
    try:
        with run_of(tmp_path / "train.log", "shared", SEGMENT=str(segment)) as run:
            done = hangtop("stop", "--log", str(run.log), "--yes")
        assert done.returncode == 1
        (line,) = [line for line in done.stdout.splitlines() if f"shared memory {segment}" in line]
        assert line.endswith("is left and nobody holds it: hangtop clean removes it")
    finally:
        segment.unlink(missing_ok=True)


def test_gpu_memory_is_waited_for_and_proved_from_the_shell(tmp_path: Path) -> None:
    """The driver gives it back a moment after the processes are gone: polled until at most 512 MB are taken."""
    with run_of(tmp_path / "train.log", "willing", "willing") as run:
        holds = "".join(f"gpu {k} mem_used_mib=60400\nproc {k} {pid} mem_mib=60300\n" for k, pid in enumerate(run.ranks))
        driver = StandInDriver(tmp_path, f"gpus 2\n{holds}")
        command = [sys.executable, "-m", "hangtop", "stop", "--log", str(run.log), "--yes"]
        with subprocess.Popen(command, env=driver.environment, stdout=subprocess.PIPE, text=True) as shown:
            assert shown.stdout is not None
            told = []
            for line in shown.stdout:
                told.append(line)
                if "waiting for the driver" in line:
                    driver.says("gpus 2\ngpu 0 mem_used_mib=400\ngpu 1 mem_used_mib=3\n")
        text = "".join(told)
        assert shown.returncode == 0, text
        assert " on 2 GPUs" in text
        assert "GPU 0 is free, 400" in text
        assert "GPU 1 is free, 3.0" in text


@pytest.mark.parametrize("words", [("stop", "--pid", "1"), ("clean",), ("restart", "--pid", "1")])
def test_read_only_in_the_config_leaves_only_looking(tmp_path: Path, words: tuple[str, ...]) -> None:
    config = tmp_path / "config.toml"
    config.write_text("read_only = true\n")
    refused = hangtop(*words, "--config", str(config), "--yes")
    assert refused.returncode == 2
    assert "read_only is set in the config" in refused.stderr


def test_a_run_is_interrupted_no_more_than_asked_when_the_shell_breaks_it_off(tmp_path: Path) -> None:
    """Ctrl-C in the shell: the performer goes on, for half a stop is worse than none; it is told so."""
    with run_of(tmp_path / "train.log", "stubborn") as run:
        command = [sys.executable, "-m", "hangtop", "stop", "--log", str(run.log), "--yes"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as shown:
            assert shown.stdout is not None
            for line in shown.stdout:
                if "SIGTERM to pid" in line:
                    break
            shown.send_signal(signal.SIGINT)
            rest = shown.stdout.read()
        assert shown.returncode == 1
        assert "broken off as asked" in rest
        assert alive(run.ranks[0])
