"""Bare `hangtop` finds the training runs of this machine by the logs they hold open."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hangtop.cli.commands.runs import listing
from hangtop.common.text import cells
from hangtop.probe.context import ProbeContext
from hangtop.probe.processes.runs_here import RunsSource
from hangtop.records.runs import RunCandidate, RunsReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.processes.training_commands import framework_of, looks_like_training
from hangtop.translations import speak
from tests.fakes.processes import eventually, python, running

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

STEPS = "import time; print('step 1', flush=True); time.sleep(600)"


def runs_below(folder: Path, source: RunsSource | None = None) -> list[RunCandidate]:
    """The candidates whose log is in this test's folder: others may train on this machine too."""
    (value,) = (source or RunsSource(ProbeContext(WatchSpec()))).read(time.time())
    assert isinstance(value, RunsReading)
    return [candidate for candidate in value.candidates if candidate.log.startswith(str(folder))]


def one_run(folder: Path) -> RunCandidate:
    source = RunsSource(ProbeContext(WatchSpec()))
    (candidate,) = eventually(lambda: runs_below(folder, source), "a run")
    return candidate


@linux_only
def test_a_training_script_with_its_output_in_a_file_is_a_run(tmp_path: Path) -> None:
    log = tmp_path / "out"
    (tmp_path / "train.py").write_text(STEPS)
    with log.open("wb") as out, running(sys.executable, str(tmp_path / "train.py"), stdout=out) as trainer:
        eventually(lambda: log.stat().st_size)
        run = one_run(tmp_path)
        assert (run.pid, run.log, run.framework, run.via, run.log_bytes) == (trainer.pid, str(log), "generic", None, 7)
        assert abs(time.time() - (run.log_modified_at or 0)) < 600
        assert run.command.endswith("train.py")


@linux_only
def test_what_hangtop_itself_writes_into_a_file_is_no_run(tmp_path: Path) -> None:
    watched, told = tmp_path / "train.log", tmp_path / "told.log"
    watched.write_text("step 1\n")
    with told.open("wb") as out, running(sys.executable, "-m", "hangtop", "--plain", "--log", str(watched), stdout=out):
        eventually(lambda: told.stat().st_size)
        assert runs_below(tmp_path) == []


@linux_only
def test_a_run_behind_tee_is_found_with_the_file_that_tee_writes(tmp_path: Path) -> None:
    log, script = tmp_path / "train.log", tmp_path / "train.py"
    script.write_text(STEPS)
    with running("bash", "-c", f"{sys.executable} -u {script} 2>&1 | tee {log}", stdout=subprocess.DEVNULL):
        eventually(lambda: log.exists() and log.stat().st_size)
        run = one_run(tmp_path)
        assert (run.log, run.via) == (str(log), "tee")


@linux_only
@pytest.mark.skipif(shutil.which("script") is None, reason="needs script (util-linux)")
def test_ranks_on_a_terminal_that_script_writes_down_are_a_run(tmp_path: Path) -> None:
    log, program = tmp_path / "typescript", tmp_path / "start.py"
    rank = {"RANK": "0", "WORLD_SIZE": "1"}
    program.write_text(
        f"import os, subprocess, sys; subprocess.run([sys.executable, '-c', {STEPS!r}], env={{**os.environ, **{rank}}})"
    )
    command = ("script", "--quiet", "--flush", "--command", f"{sys.executable} {program}", str(log))
    with running(*command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL):
        run = one_run(tmp_path)
        assert (run.log, run.via, run.ranks) == (str(log), "script", 1)


@linux_only
def test_a_launcher_with_a_log_for_each_rank_is_one_run_and_its_directory_is_offered(tmp_path: Path) -> None:
    program = (
        "import os, subprocess, sys\n"
        "files = [open(f'{sys.argv[1]}/rank_{k}.log', 'wb') for k in range(4)]\n"
        "ranks = [subprocess.Popen([sys.executable, '-c', sys.argv[2]], stdout=file, env=dict(os.environ, RANK=str(k)))"
        " for k, file in enumerate(files)]\n"
        "ranks[0].wait()"
    )
    with python(program, str(tmp_path), STEPS, "torch.distributed.run", stdout=subprocess.DEVNULL) as launcher:
        eventually(lambda: len(list(tmp_path.glob("*.log"))) == 4 and all(p.stat().st_size for p in tmp_path.glob("*.log")))
        run = one_run(tmp_path)
        assert (run.pid, run.log, run.logs, run.ranks, run.framework) == (launcher.pid, str(tmp_path), 4, 4, "torchrun")


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare(1) for a mount namespace"
)
def test_a_log_that_only_a_container_sees_is_offered_by_a_path_that_can_be_read(tmp_path: Path) -> None:
    enter = f"mount -t tmpfs tmpfs {tmp_path}"
    inside = f'{enter} && exec {sys.executable} -c "{STEPS}" train > {tmp_path}/train.log'
    with running("unshare", "--mount", "bash", "-c", inside) as container:
        source = RunsSource(ProbeContext(WatchSpec()))

        def offered() -> list[str]:
            (value,) = source.read(time.time())
            assert isinstance(value, RunsReading)
            return [run.log for run in value.candidates if run.pid == container.pid and run.log.endswith("/train.log")]

        (log,) = eventually(offered, "the run in the container")
        assert log == f"/proc/{container.pid}/root{tmp_path}/train.log"
        assert eventually(lambda: Path(log).read_text()) == "step 1\n"


@linux_only
def test_a_program_whose_log_is_named_after_training_is_a_run(tmp_path: Path) -> None:
    log = tmp_path / "pretrain_7b.txt"
    with log.open("wb") as out, python("print(1, flush=True); import time; time.sleep(600)", stdout=out, cwd="/") as program:
        assert one_run(tmp_path).pid == program.pid


def test_a_run_is_offered_in_lines_that_fit() -> None:
    run = RunCandidate("/data/train.log", 7, 0.0, 1, f"python train.py {'--option ' * 40}", ranks=4, log_bytes=310)
    first, second = listing([run], 0.0, 80)
    assert first == "  1  /data/train.log"
    assert second.startswith("     generic  4 ranks  310 B  python train.py --option")
    assert len(second) == 80
    speak("zh")
    try:
        assert cells(listing([run], 0.0, 80)[1]) == 80
    finally:
        speak("en")


@linux_only
def test_programs_that_do_not_train_are_not_offered(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with log.open("wb") as out, python("print(1, flush=True); import time; time.sleep(600)", stdout=out, cwd="/"):
        eventually(lambda: log.stat().st_size)
        source = RunsSource(ProbeContext(WatchSpec()))
        assert runs_below(tmp_path, source) == []


@linux_only
def test_only_names_that_tell_a_run_are_kept_of_an_environment(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    source = RunsSource(ProbeContext(WatchSpec()))
    secret = {**os.environ, "RANK": "0", "HF_TOKEN": "hf_secret"}
    with log.open("wb") as out, python(STEPS, stdout=out, env=secret):
        eventually(lambda: runs_below(tmp_path, source))
        assert all("HF_TOKEN" not in known.environ for known in source._facts._facts.values())


@pytest.mark.parametrize(
    ("command", "framework"),
    [
        ("python3 -m verl.trainer.main_ppo data.train_files=x", "verl"),
        ("python3 -m recipe.gkd.main_gkd --config-name x", "gkd"),
        ("python -m openrlhf.cli.train_ppo_ray", "openrlhf"),
        ("torchrun --nproc_per_node 8 pretrain_gpt.py", "megatron"),
        ("python -u -m torch.distributed.run train.py", "torchrun"),
        ("deepspeed --num_gpus 8 train.py", "deepspeed"),
        ("accelerate launch sft.py", "accelerate"),
        ("ray::WorkerDict.actor_rollout_update_actor", "ray"),
        ("vllm serve Qwen/Qwen3-8B", "vllm"),
        ("python -m sglang.launch_server", "sglang"),
        ("vim notes.txt", None),
    ],
)
def test_the_framework_is_guessed_by_the_command_line(command: str, framework: str | None) -> None:
    assert framework_of([command]) == framework


@pytest.mark.parametrize(
    "command", ["python pretrain.py", "python my_train.py", "python run_sft.py", "./finetune.sh", "python -m trainer"]
)
def test_words_of_training_are_known(command: str) -> None:
    assert looks_like_training([command])


@pytest.mark.parametrize("command", ["python -m http.server", "bash", "python constraint.py", "/usr/sbin/sshd -D", "nginx"])
def test_other_programs_are_not_taken_for_training(command: str) -> None:
    assert not looks_like_training([command])
