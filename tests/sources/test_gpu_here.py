"""What of the GPUs can be seen from here: pids in a container, accelerators of other makers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hangtop.probe.gpu.gpu_source import others_here
from hangtop.probe.gpu.node import UNSEEN_S, PidVisibility, exists
from hangtop.records.gpu import Gpu, GpuProcess
from tests.fakes.nvml.stand_in import StandInDriver

NOBODY = 4_100_000  # above the highest pid that Linux gives
GIB = 2**30


def used_by(*pids: int, used_bytes: int = 60 * GIB) -> tuple[Gpu, ...]:
    return (Gpu(0, uuid="GPU-0", used_bytes=used_bytes, processes=tuple(GpuProcess(pid, GIB) for pid in pids)),)


def seen(sight: PidVisibility, gpus: tuple[Gpu, ...], now: float) -> tuple[list[bool], bool]:
    marked, hidden = sight.mark(gpus, now)
    return [process.visible for gpu in marked for process in gpu.processes], hidden


def test_host_pids_in_a_container_hide_all_processes_of_its_gpus() -> None:
    sight = PidVisibility(in_container=True)
    assert seen(sight, used_by(os.getpid(), NOBODY), 0.0) == ([True, True], False)
    assert seen(sight, used_by(os.getpid(), NOBODY), UNSEEN_S) == ([False, False], True)


def test_where_no_pid_of_the_driver_was_ever_seen_they_are_hidden_at_once() -> None:
    assert seen(PidVisibility(in_container=True), used_by(NOBODY), 0.0) == ([False], True)
    assert seen(PidVisibility(in_container=False), used_by(NOBODY), 0.0) == ([True], False)


def test_check_says_that_a_pid_namespace_hides_the_processes_of_the_gpus(tmp_path: Path) -> None:
    apart = ("unshare", "--pid", "--fork", "--mount-proc")
    if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no pid namespace can be made here: that needs root")
    log = tmp_path / "train.log"
    log.write_text("step 1/100 loss=2.1\n")
    driver = StandInDriver(tmp_path, f"gpus 2\nproc * {os.getpid()} mem_mib=60300")
    argv = (*apart, sys.executable, "-m", "hangtop", "check", "--log", str(log), "--json")
    said = subprocess.run(argv, check=False, capture_output=True, timeout=240, env=driver.environment)
    gpu = json.loads(said.stdout)["sources"]["gpu"]
    assert gpu["ok"]
    assert "this container hides the GPU processes" in gpu["problem"]


def test_memory_without_any_process_is_hidden_in_a_container_and_free_again_on_a_host() -> None:
    inside, outside = PidVisibility(in_container=True), PidVisibility(in_container=False)
    for now in (0.0, UNSEEN_S):
        assert seen(outside, used_by(), now) == ([], False)
        hidden = seen(inside, used_by(), now)
    assert hidden == ([], True)
    assert seen(inside, used_by(used_bytes=GIB // 2), UNSEEN_S + 1) == ([], False)


def test_a_process_that_just_ended_is_not_called_hidden() -> None:
    sight = PidVisibility(in_container=True)
    assert seen(sight, used_by(os.getpid()), 0.0) == ([True], False)
    assert seen(sight, used_by(NOBODY), 1.0) == ([True], False)
    assert seen(sight, used_by(os.getpid()), 2.0) == ([True], False)
    assert seen(sight, used_by(NOBODY), 4.0) == ([True], False)  # another one: it has its own time
    assert seen(sight, used_by(NOBODY), 4.0 + UNSEEN_S) == ([False], True)


def test_on_a_host_only_the_process_that_is_gone_is_marked() -> None:
    sight = PidVisibility(in_container=False)
    sight.mark(used_by(os.getpid(), NOBODY), 0.0)
    assert seen(sight, used_by(os.getpid(), NOBODY), UNSEEN_S) == ([True, False], False)


def test_existence_is_known_of_ended_processes_and_of_those_of_others() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not exists(ended.pid)
    assert exists(1)
    assert exists(os.getpid())


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("dev/kfd", "an AMD GPU is here"),
        ("sys/module/amdgpu/version", "an AMD GPU is here"),
        ("sys/module/xe/drivers/pci:xe/0000:03:00.0/vendor", "an Intel GPU is here"),
        ("dev/hl0", "an Intel Gaudi is here"),
        ("dev/davinci3", "an Ascend NPU is here"),
    ],
)
def test_other_makers_are_named_with_their_tool(tmp_path: Path, path: str, says: str) -> None:
    sign = tmp_path / path
    sign.parent.mkdir(parents=True)
    sign.touch()
    (said,) = others_here(tmp_path, "linux")
    assert said.startswith(says)
    assert "shows it" in said


def test_an_nvidia_gpu_without_its_driver_names_what_mends_it(tmp_path: Path) -> None:
    device = tmp_path / "sys/bus/pci/devices/0000:1b:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x030200\n")
    assert "--gpus all" in others_here(tmp_path, "linux")[0]
    (device / "class").write_text("0x068000\n")  # an NVSwitch
    assert others_here(tmp_path, "linux") == ()


def test_apple_is_named_and_an_empty_machine_is_silent(tmp_path: Path) -> None:
    assert others_here(tmp_path, "darwin")[0].startswith("an Apple GPU is here")
    assert others_here(tmp_path, "linux") == ()
