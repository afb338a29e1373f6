"""The pre-flight, with what may be wrong made wrong: ports, names, interfaces, settings, files, disks, packages."""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.cli.commands import doctor
from hangtop.doctor import environment, gpus_asked, inputs, launch_line, machine_limits, network, packages, ray_address
from hangtop.doctor.check_types import Check, Subject
from hangtop.doctor.network import Meeting, meeting
from hangtop.doctor.trials import trial
from hangtop.records.gpu import Gpu
from hangtop.system.files.network_filesystems import FileSystem
from tests.fakes.nvml.stand_in import StandInDriver


def subject(*command: str, cwd: str | Path = "/", **environ: str) -> Subject:
    return Subject(command, str(cwd), environ, sys.executable)


def found(checks: Iterator[Check], title: str) -> Check:
    return next(check for check in checks if check.title == title)


def test_a_port_that_is_taken_fails_and_a_free_one_is_ok() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        check = found(network.master(subject(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)), "MASTER_PORT")
        assert (check.status, f"port {port} is taken" in check.detail) == ("fail", True)
        assert port in check.mend
    assert found(network.master(subject(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)), "MASTER_PORT").status == "ok"


@pytest.fixture
def no_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one is configured and does not answer, a name takes half a minute to fail."""

    def fails(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fails)


@pytest.mark.usefixtures("no_name_server")
def test_a_name_that_does_not_resolve_fails() -> None:
    check = found(network.master(subject(MASTER_ADDR="no-such-host.invalid")), "MASTER_ADDR")
    assert check.status == "fail"
    assert "does not resolve" in check.detail


def test_loopback_for_several_nodes_fails_and_for_one_is_ok() -> None:
    assert found(network.master(subject(MASTER_ADDR="127.0.0.1", NNODES="2")), "MASTER_ADDR").status == "fail"
    assert found(network.master(subject(MASTER_ADDR="127.0.0.1")), "MASTER_ADDR").status == "ok"


@pytest.mark.parametrize(
    ("value", "status"), [("lo", "ok"), ("=lo", "ok"), ("l", "ok"), ("^docker", "ok"), ("bond7", "fail"), ("=l", "fail")]
)
def test_interface_names_are_read_as_nccl_reads_them(value: str, status: str) -> None:
    assert found(network.interfaces(subject(NCCL_SOCKET_IFNAME=value)), "NCCL_SOCKET_IFNAME").status == status


@pytest.mark.parametrize(("value", "status"), [("lo", "ok"), ("lo,bond7", "ok"), ("l", "fail"), ("^docker", "fail")])
def test_interface_names_are_read_as_gloo_reads_them(value: str, status: str) -> None:
    assert found(network.interfaces(subject(GLOO_SOCKET_IFNAME=value)), "GLOO_SOCKET_IFNAME").status == status


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("torchrun --nnodes=2 --rdzv-endpoint=n1:29400 train.py", Meeting("n1", "29400", 2)),
        ("torchrun --nnodes 1:4 --rdzv_endpoint n1 train.py", Meeting("n1", "29500", 4)),
        ("torchrun --rdzv-endpoint=[fe80::1]:29400 t.py", Meeting("fe80::1", "29400", 1)),
        ("deepspeed --master_addr 10.0.0.1 --master_port 6000 --num_nodes 3 main.py", Meeting("10.0.0.1", "6000", 3)),
        ("accelerate launch --main_process_ip n1 --main_process_port 7 --num_machines 2 t.py", Meeting("n1", "7", 2)),
        ("python train.py", Meeting("from-environment", "1", 8)),
    ],
)
def test_the_launchers_own_options_say_where_the_ranks_meet(command: str, expected: Meeting) -> None:
    environ = {"MASTER_ADDR": "from-environment", "MASTER_PORT": "1", "NNODES": "8"} if command.startswith("python") else {}
    assert meeting(command.split(), environ) == expected


def test_a_port_of_the_command_line_that_is_taken_fails() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        check = found(network.master(subject("torchrun", "--master-addr=127.0.0.1", f"--master-port={port}")), "MASTER_PORT")
        assert check.status == "fail"


def test_the_framework_of_a_command_or_of_an_earlier_log_tells_what_does_work(tmp_path: Path) -> None:
    of_command = doctor.subject_of(("python", "-m", "verl.trainer.main_ppo"), {"NCCL_TIMEOUT": "1800"}, "/")
    assert "actor_rollout_ref.nccl_timeout, seconds" in found(environment.settings(of_command), "NCCL_TIMEOUT").mend
    assert (
        "verl reads actor_rollout_ref.nccl_timeout; by default 600 seconds"
        in found(environment.timeouts(of_command), "group timeout").detail
    )
    log = tmp_path / "train.log"
    log.write_text("***** Running training *****\n{'loss': 1.1, 'grad_norm': 0.5, 'epoch': 0.1}\n")
    assert doctor.framework_in(log) == "hf"
    of_log = doctor.subject_of((), {}, "/", doctor.framework_in(log))
    assert "ddp_timeout; by default 1800 seconds" in found(environment.timeouts(of_log), "group timeout").detail
    assert list(environment.timeouts(doctor.subject_of((), {}, "/"))) == []


def test_settings_that_nobody_reads_and_brakes_are_named_with_what_works() -> None:
    checks = list(environment.settings(subject(NCCL_TIMEOUT="600", NCCL_P2P_DISABLE="1", PATH="/bin")))
    assert [check.title for check in checks] == ["NCCL_P2P_DISABLE", "NCCL_TIMEOUT"]
    assert "only a script that reads it itself" in checks[1].detail


def test_a_file_of_the_command_line_that_is_not_there_fails(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    checks = list(inputs.paths(subject("python", "train.py", "--data=/no/such.parquet", "--lr", "1e-4", cwd=tmp_path)))
    assert [(check.title, check.status) for check in checks] == [("/no/such.parquet", "fail")]


def test_a_lock_counts_only_while_a_living_process_holds_it(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    lock = tmp_path / "datasets" / "a.lock"
    lock.write_text("")
    assert found(environment.hub(subject(HF_HOME=str(tmp_path))), "dataset locks").status == "ok"
    with lock.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert found(environment.hub(subject(HF_HOME=str(tmp_path))), "dataset locks").status == "warn"


@pytest.mark.parametrize(
    ("versions", "title"),
    [
        ({"torch": "2.1.2", "numpy": "2.0.1"}, "numpy ABI"),
        ({"torch": "2.5.1+cu124", "torchvision": "0.20.1+cu118"}, "torchvision build"),
        ({"torch": "2.13.0+cpu"}, "torch build"),
    ],
)
def test_versions_that_clash(versions: dict[str, str], title: str) -> None:
    assert [check.title for check in packages.clashes(versions)] == [title]
    assert not list(packages.clashes({"torch": "2.6.0+cu124", "numpy": "2.1.0", "torchvision": "0.21.0+cu124"}))


@pytest.mark.parametrize("first", ["#!{python}", "#!/usr/bin/env python3", "#!/usr/bin/env -S python3 -u"])
def test_the_python_that_a_script_names_is_the_run_s(first: str, tmp_path: Path) -> None:
    script = tmp_path / "train"
    script.write_text(f"{first.format(python=sys.executable)}\nprint(1)\n")
    script.chmod(0o755)
    python = doctor.subject_of((str(script),), os.environ, "/").python
    assert python == (sys.executable if "{" in first else shutil.which("python3"))
    assert packages.installed(python)


def test_a_script_that_may_be_run_but_not_read_breaks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "train"
    script.mkdir()
    monkeypatch.setattr(shutil, "which", lambda word: str(script) if word == "train" else "/usr/bin/python3")
    assert doctor.subject_of(("train",), {}, "/").python == "/usr/bin/python3"


def test_the_runs_own_interpreter_is_asked(tmp_path: Path) -> None:
    assert "pytest" in packages.installed(sys.executable)
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\necho 'cannot start' >&2\nexit 1\n")
    broken.chmod(0o755)
    check = next(packages.versions(Subject((), "/", {}, str(broken))))
    assert (check.status, str(broken) in check.detail) == ("unknown", True)


def test_an_extension_with_an_undefined_symbol_fails(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\necho 'ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2E' >&2\nexit 1\n")
    python.chmod(0o755)
    where = Subject((), "/", {}, str(python))
    check = next(packages.extensions(where, {"flash-attn": "2.7.0", "torch": "2.6.0"}))
    assert (check.status, "undefined symbol" in check.detail) == ("fail", True)


def test_a_check_that_hangs_is_named_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hung = threading.Event()

    def hangs(_: Subject) -> Iterator[Check]:
        hung.wait(60)
        yield from ()

    monkeypatch.setattr(doctor, "CHECKERS", {"nfs": hangs, "limits": machine_limits.limits})
    checks = doctor.examine(subject(), deadline_s=0.5)
    hung.set()
    assert (checks[0].title, checks[0].status) == ("nfs", "unknown")
    assert any(check.group == "limits" for check in checks)


def test_a_check_that_breaks_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(_: Subject) -> Iterator[Check]:
        raise RuntimeError("boom")

    monkeypatch.setattr(doctor, "CHECKERS", {"broken": breaks})
    assert doctor.examine(subject())[0].detail == "hangtop's check failed: RuntimeError: boom"


@pytest.mark.usefixtures("no_name_server")
def test_the_whole_table_and_its_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER_ADDR", "no-such-host.invalid")
    out = io.StringIO()
    assert doctor.run(("NNODES=1", "python3", "x.py"), as_json=True, out=out) == 1
    told = json.loads(out.getvalue())
    assert (told["schema"], told["fit"]) == (1, False)
    assert {"gpu", "disk", "memory", "limits", "network", "packages"} <= {check["group"] for check in told["checks"]}


def test_words_before_the_command_are_its_environment() -> None:
    what = doctor.subject_of(("MASTER_PORT=29501", "python3", "train.py"), {"A": "1"}, "/tmp")
    assert what.environ == {"A": "1", "MASTER_PORT": "29501"}
    assert what.command == ("python3", "train.py")


PRIVATE = ("unshare", "--mount", "--propagation", "private")


def can_mount() -> bool:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    return subprocess.run((*PRIVATE, "mount", "-t", "tmpfs", "none", "/mnt"), capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="needs root and unshare, to mount a tiny file system for itself alone")
@pytest.mark.parametrize(
    ("place", "size", "check", "status"),
    [("/dev/shm", "64m", "shared_memory", "fail"), ("/dev/shm", "1g", "shared_memory", "warn"), ("/mnt", "1m", "disks", "fail")],
)
def test_a_tiny_file_system(place: str, size: str, check: str, status: str) -> None:
    code = (
        "from hangtop.doctor import machine_limits; from hangtop.doctor.check_types import Subject; "
        f"print(next(machine_limits.{check}(Subject((), {place!r}, {{}}, ''))).status)"
    )
    shell = f'mount -t tmpfs -o size={size} none {place} && exec {sys.executable} -c "$CODE"'
    env = {**os.environ, "CODE": code}
    done = subprocess.run((*PRIVATE, "sh", "-c", shell), capture_output=True, text=True, env=env, check=True)
    assert done.stdout.strip() == status


@pytest.mark.parametrize(
    ("installed", "driver", "status"),
    [
        ({"torch": "2.7.0+cu128"}, "570.86.10", "ok"),
        ({"torch": "2.7.0+cu128"}, "470.57.02", "fail"),
        ({"torch": "2.9.0", "nvidia-cuda-runtime": "13.0.48"}, "550.54.15", "fail"),
        ({"torch": "2.6.0", "nvidia-cuda-runtime-cu12": "12.4.127"}, "550.54.15", "ok"),
        ({"torch": "2.6.0+cpu", "nvidia-cuda-runtime-cu12": "12.4.127"}, "470.57.02", None),
        ({"torch": "2.6.0"}, "470.57.02", None),
        ({"torch": "2.6.0+cu124"}, None, None),
    ],
)
def test_torch_and_the_driver_fit_as_far_as_both_are_known(
    installed: dict[str, str], driver: str | None, status: str | None
) -> None:
    checks = list(packages.driver_fit(installed, driver, has_compat=False))
    assert [check.status for check in checks] == ([status] if status else [])
    assert {check.status for check in packages.driver_fit(installed, driver, has_compat=True)} <= {"ok", "warn"}


def test_another_ray_than_the_clusters_fails() -> None:
    assert [check.status for check in packages.cluster_fit({"ray": "2.40.0"}, "2.40.0")] == ["ok"]
    check = next(packages.cluster_fit({"ray": "2.40.0"}, "2.52.1"))
    assert (check.status, check.mend) == ("fail", "pip install 'ray==2.52.1'")
    assert not list(packages.cluster_fit({}, "2.52.1"))
    assert not list(packages.cluster_fit({"ray": "2.40.0"}, ""))


def test_quotas_are_read_as_quota_prints_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "quota"
    program.write_text(
        "#!/bin/sh\ncat <<'EOF'\nDisk quotas for user ann (uid 1000): \n"
        "     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace\n"
        "nas:/home 1048576* 1000000 2000000 6days 12 0 0\n/dev/sda1 10 1000 2000 5 0 0\n/dev/sdb1 10 0 0 5 0 0\nEOF\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert [(check.status, check.detail.split()[-1]) for check in machine_limits.quota(subject())] == [
        ("fail", "nas:/home"),
        ("ok", "/dev/sda1"),
    ]
    program.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not list(machine_limits.quota(subject()))


@pytest.mark.parametrize(("kept", "status"), [(True, "ok"), (False, "warn"), (None, "unknown")])
def test_a_clock_that_nothing_keeps_right_warns(kept: bool | None, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_limits, "is_synchronised", lambda: kept)
    check = found(machine_limits.clock(subject()), "time")
    assert check.status == status
    assert bool(check.mend) == (status != "ok")


def test_the_kernel_tells_whether_its_clock_is_kept_right() -> None:
    assert machine_limits.is_synchronised() in (True, False, None)


@pytest.mark.parametrize(
    ("server", "status", "says"),
    [
        (1000.4, "ok", "within"),
        (999.0, "ok", "within"),
        (990.0, "warn", "10 s ahead of"),
        (1031.0, "warn", "30 s behind"),
        (1, "fail", "999 s"),
    ],
)
def test_clocks_that_differ_from_the_file_servers_are_told(server: float, status: str, says: str) -> None:
    check = machine_limits.skew(server, before=1000.0, after=1001.0)
    assert (check.status, says in check.detail, bool(check.mend)) == (status, True, status != "ok")


def test_a_network_file_system_is_asked_for_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_limits, "file_system_of", lambda _: FileSystem("NFS", 30.0))
    assert found(machine_limits.clock(subject(cwd=tmp_path)), "file server").status == "ok"
    assert list(tmp_path.iterdir()) == []
    assert found(machine_limits.clock(subject(cwd="/proc")), "file server").status == "unknown"


def test_exact_requirements_that_another_version_answers_fail() -> None:
    required = {"vllm": ["torch==2.7.0", "numpy==1.26.4; python_version < '3.9'", "ray[cgraph]>=2.43", "transformers==4.51.1"]}
    there = {"vllm": "0.9.1", "torch": "2.8.0+cu128", "numpy": "1.26.4", "transformers": "4.51.1"}
    checks = list(packages.unmet(required, there))
    assert [(check.title, check.status) for check in checks] == [("vllm and torch", "fail")]
    assert checks[0].mend == "pip install 'torch==2.7.0'"
    assert packages.pins(sys.executable).keys() <= set(packages.PINNING)


def test_an_interpreter_that_does_not_tell_what_its_packages_require_is_examined_all_the_same(tmp_path: Path) -> None:
    python = tmp_path / "python"
    listed = '{"python": "3.11.4", "torch": "2.2.0", "numpy": "2.1.0"}'
    python.write_text(f"#!/bin/sh\ncase \"$2\" in *requires*) exit 1;; esac\necho '{listed}'\n")
    python.chmod(0o755)
    checks = {check.title: check.status for check in packages.versions(replace(subject(), python=str(python)))}
    assert checks == {"interpreter": "ok", "numpy ABI": "fail", "requirements": "unknown"}


def test_a_gated_model_without_a_token_warns(tmp_path: Path) -> None:
    where = subject("train", "model=meta-llama/Llama-3.1-8B", HF_HOME=str(tmp_path))
    assert found(environment.hub(where), "gated model").status == "warn"
    (tmp_path / "token").write_text("x")
    assert "gated model" not in [check.title for check in environment.hub(where)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Ray's default folder differs elsewhere")
def test_the_address_of_a_cluster_that_is_gone_fails_and_that_of_a_living_one_is_ok(tmp_path: Path) -> None:
    (tmp_path / "ray").mkdir()
    file = tmp_path / "ray" / "ray_current_cluster"
    with socket.create_server(("127.0.0.1", 0)) as gcs:
        file.write_text(address := f"127.0.0.1:{gcs.getsockname()[1]}")
        assert [check.status for check in ray_checks(tmp_path)] == ["ok"]
    (gone,) = ray_checks(tmp_path)
    assert (gone.status, gone.mend) == ("fail", "hangtop clean")
    assert f"{file} names {address}" in gone.detail
    assert ray_checks(tmp_path, RAY_ADDRESS="10.0.0.1:6379") == []
    file.unlink()
    (tmp_path / "ray" / "session_latest").symlink_to(tmp_path / "ray" / "session_gone")
    assert [(check.title, check.status) for check in ray_checks(tmp_path)] == [("latest session", "warn")]


def ray_checks(folder: Path, **environ: str) -> list[Check]:
    """Of this folder alone: the machine's own may have anything."""
    subject = Subject((), "/", {"RAY_TMPDIR": str(folder), **environ}, sys.executable)
    return [check for check in ray_address.addresses(subject) if str(folder) in check.detail]


@pytest.mark.parametrize(
    "word",
    [
        "data.train_files=['{}/a.parquet','{}/b.parquet']",
        "data.train_files=[{}/a.parquet,{}/b.parquet]",
        'data.train_files=["{}/a.parquet", "{}/b.parquet"]',
        "--data={}/a.parquet",
        "data.train_files={}/*.parquet",
        "+actor_rollout_ref.model.path={}",
        "actor_rollout_ref.model.path=Qwen/Qwen3-8B",
        "data.train_files=s3://bucket/a.parquet",
        "trainer.default_local_dir={}/made/by/the/run",
        "--output_file={}/made.jsonl",
        "data.output_dir=./output",
    ],
)
def test_files_of_lists_are_looked_for_one_by_one_and_what_the_run_makes_is_not(word: str, tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        (tmp_path / name).write_text("")
    checks = list(inputs.paths(subject("python", "-m", "verl.trainer.main_ppo", word.replace("{}", str(tmp_path)))))
    assert [check.status for check in checks if check.status == "fail"] == []


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ("data.train_files=['{}/a.parquet','{}/gone.parquet']", "{}/gone.parquet"),
        ("actor_rollout_ref.model.path=/no/model", "/no/model"),
        ("--model_name_or_path /no/model", "/no/model"),
        ("--pretrain=/no/model", "/no/model"),
        ("critic.model.path={}/empty", "{}/empty"),
        ("data.train_files={}/*.jsonl", "{}/*.jsonl"),
    ],
)
def test_a_missing_model_or_file_of_a_list_fails(words: str, missing: str, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("")
    (tmp_path / "empty").mkdir()
    checks = list(inputs.paths(subject("python", *words.replace("{}", str(tmp_path)).split())))
    assert [(check.title, check.status) for check in checks] == [(missing.replace("{}", str(tmp_path)), "fail")]


GPUS = tuple(Gpu(index, status="ok", uuid=f"GPU-{index}{index}{index}") for index in range(4))


@pytest.mark.parametrize(
    ("listing", "seen", "first_unknown"),
    [
        (None, 4, ""),
        ("0,1", 2, ""),
        ("2,9,1", 1, "9"),
        ("", 0, ""),
        ("-1", 0, ""),
        ("GPU-111,GPU-2", 2, ""),
        ("GPU-x", 0, "GPU-x"),
    ],
)
def test_cuda_hides_what_stands_behind_an_entry_that_is_not_there(listing: str | None, seen: int, first_unknown: str) -> None:
    assert gpus_asked.visible(listing, GPUS) == (seen, first_unknown)


@pytest.mark.parametrize(
    ("command", "gpus"),
    [
        ("torchrun --nproc_per_node=8 t.py", [8]),
        ("torchrun --nproc-per-node 8 t.py", [8]),
        ("torchrun --nproc_per_node=gpu t.py", []),
        ("deepspeed --num_gpus 6 t.py", [6]),
        ("accelerate launch --num_processes 16 --num_machines 2 t.py", [8]),
        ("python main_ppo.py trainer.n_gpus_per_node=4", [4]),
        ("python main_gkd.py trainer.n_gpus_per_node=2 rollout.n_gpus_per_node=2", [4]),
        ("python main_gkd.py trainer.n_gpus_per_node=2 rollout.n_gpus_per_node=2 trainer.nnodes=2", [2, 2]),
        ("python train.py", []),
    ],
)
def test_the_command_tells_how_many_gpus_it_wants(command: str, gpus: list[int]) -> None:
    assert [wish.gpus for wish in gpus_asked.asked(command.split())] == gpus


@pytest.mark.parametrize(
    ("command", "listing", "statuses", "mend"),
    [
        ("torchrun --nproc_per_node=8 t.py", None, ["fail"], "--nproc_per_node=4"),
        ("torchrun --nproc_per_node=4 t.py", "0,1", ["fail"], "unset CUDA_VISIBLE_DEVICES"),
        ("torchrun --nproc_per_node=4 t.py", None, ["ok"], ""),
        (
            "python main_gkd.py trainer.n_gpus_per_node=4 rollout.n_gpus_per_node=4",
            None,
            ["fail"],
            "trainer.n_gpus_per_node=2 rollout.n_gpus_per_node=2",
        ),
    ],
)
def test_more_gpus_than_there_are_fail_with_what_fits(command: str, listing: str | None, statuses: list[str], mend: str) -> None:
    environ = {} if listing is None else {"CUDA_VISIBLE_DEVICES": listing}
    checks = list(gpus_asked.fit(subject(*command.split(), **environ), GPUS, one_node=True))
    assert ([check.status for check in checks], checks[-1].mend) == (statuses, mend)


def test_a_timeout_that_a_script_reads_itself_is_no_warning_and_gkd_has_its_own_key(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("timeout = os.environ['NCCL_TIMEOUT']\n")
    (tmp_path / "other.py").write_text("")
    reads = subject("python", "train.py", cwd=tmp_path, NCCL_TIMEOUT="600")
    assert found(environment.settings(reads), "NCCL_TIMEOUT").status == "ok"
    other = found(environment.settings(subject("python", "other.py", cwd=tmp_path, NCCL_TIMEOUT="600")), "NCCL_TIMEOUT")
    assert (other.status, "does not name it" in other.detail) == ("warn", True)
    of_gkd = doctor.subject_of(("python", "recipe/gkd/main_gkd.py"), {"NCCL_TIMEOUT": "600"}, "/")
    assert found(environment.settings(of_gkd), "NCCL_TIMEOUT").mend == "gkd takes actor_rollout_ref.nccl_timeout, seconds"


@pytest.mark.parametrize(
    ("command", "environ", "line"),
    [
        ("torchrun --nnodes=2 --nproc_per_node=8 t.py", {}, "--node_rank=0… --master_addr=ADDRESS-OF-NODE-0"),
        ("torchrun --nproc_per_node=8 t.py", {"MASTER_ADDR": "n1", "SLURM_NNODES": "2", "SLURM_NODEID": "1"}, "--master_addr=n1"),
        ("python -u t.py --lr 1", {"WORLD_SIZE": "8", "RANK": "0", "MASTER_ADDR": "n1"}, "--nproc_per_node=8 --master_addr=n1"),
        ("torchrun --nnodes=2 --rdzv-endpoint=n1:29400 t.py", {}, ""),
        ("torchrun --nproc_per_node=8 t.py", {}, ""),
        ("python t.py", {}, ""),
    ],
)
def test_a_launch_that_leaves_out_where_ranks_meet_gets_its_whole_line(command: str, environ: dict[str, str], line: str) -> None:
    checks = list(launch_line.launch_line(subject(*command.split(), **environ)))
    assert len(checks) == bool(line)
    assert not line or (line in checks[0].mend and checks[0].mend.startswith("torchrun ") and "-u" not in checks[0].mend)


def test_a_driver_that_never_answers_fails_and_so_does_one_gpu(tmp_path: Path) -> None:
    for state, title in (("gpus 4\ninit hang\n", "driver"), ("gpus 4\ngpu 2 fail=hang\n", "GPU 2")):
        driver = StandInDriver(tmp_path, state)
        done = subprocess.run(
            (sys.executable, "-m", "hangtop", "doctor", "--json"), env=driver.environment, capture_output=True, check=False
        )
        assert [c["status"] for c in json.loads(done.stdout)["checks"] if (c["group"], c["title"]) == ("gpu", title)] == ["fail"]


def test_trials_are_offered_and_carried_out_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n')
    assert list(trial.offers(subject("python", "train.py"))) == []
    of_verl = replace(subject("python", "--data", str(tmp_path / "a.jsonl"), cwd=tmp_path), framework="verl")
    offered = list(trial.offers(of_verl))
    assert [check.title for check in offered] == ["data set", "one worker"]
    assert all(check.mend.startswith("hangtop doctor --try ") and "not tried" in check.detail for check in offered)
    assert trial.carry_out("data", of_verl, 30.0).status == "ok"


def test_a_trial_that_stands_is_ended_at_its_bound_and_says_where(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    check = trial._load_data(replace(subject("python", f"--data={tmp_path}/a.jsonl", cwd=tmp_path)), 1.0)
    assert check.status == "unknown"  # a pipe is no file
    (tmp_path / "datasets.py").write_text("import time\ndef load_dataset(*a, **k):\n    time.sleep(60)\n")
    (tmp_path / "b.jsonl").write_text("{}\n")
    stands = trial.carry_out("data", subject("python", f"--data={tmp_path}/b.jsonl", cwd=tmp_path, PYTHONPATH=str(tmp_path)), 1.0)
    assert (stands.status, "it stands in load_dataset (datasets.py:3)" in stands.detail) == ("fail", True)


def test_a_torch_that_has_a_debug_server_says_how_it_is_opened_and_what_it_lacks() -> None:
    whole = {"torch": "2.13.0+cpu", "jinja2": "3.1", "aiohttp": "3.9"}
    (said,) = packages.debug_server(whole)
    assert (said.status, said.title) == ("ok", "debug server")
    assert "start_debug_server() on every rank" in said.detail
    (lacks,) = packages.debug_server({"torch": "2.10.0", "jinja2": "3.1"})
    assert lacks.detail.endswith("first: pip install aiohttp")
    assert not list(packages.debug_server({"torch": "2.9.1"}))
    assert not list(packages.debug_server({}))
