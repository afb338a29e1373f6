"""The GPU source in a real probe on the stand-in driver: what it reads when all is well, what it says when nothing is there."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hangtop.records.gpu import Gpu
from tests.fakes.nvml.stand_in import GpuProbe, StandInDriver, gpu_probe

GIB = 2**30


def complete(probe: GpuProbe) -> bool:
    """Every question of the slow turn was asked at least once, the rates twice."""
    return bool(probe.gpus) and all(gpu.nvlink_rx_bytes_s and gpu.limit_w and gpu.sm_clock_max_mhz for gpu in probe.gpus.values())


def absent(probe: GpuProbe) -> str | None:
    return probe.health.absent if probe.health else None


def problem(probe: GpuProbe) -> str | None:
    return probe.health.problem if probe.health else None


def test_every_value_of_every_gpu_is_read_with_few_calls(tmp_path: Path) -> None:
    driver = StandInDriver(
        tmp_path,
        f"""
        gpus 8
        gpu * util=95 mem_util=40 temp=58 power=540 power_limit=700 mem_used_mib=61440
        gpu * pcie_rx=1000 pcie_tx=2000 nvlink_kib_s=1000 nvlinks=2
        gpu 3 throttle=0x24 ecc_corr=7 ecc_uncorr=1 name=NVIDIA_A100 mig=0
        proc 2 {os.getpid()} mem_mib=60300
        """,
    )
    with gpu_probe(driver.environment) as probe:
        started = time.monotonic()
        probe.until(complete, "all values")
        time.sleep(5)
        calls, elapsed_s = driver.calls(probe.process.pid), time.monotonic() - started
        gpus = probe.gpus
        rate = 2 * 1000 * 1024  # read between two looks at the clock, which on a busy machine are far from it
        probe.until(lambda probe: probe.gpus[0].nvlink_rx_bytes_s == pytest.approx(rate, rel=0.02), "the rate of both links")
    assert sum(calls.values()) / elapsed_s <= 100
    assert sorted(gpus) == list(range(8))
    assert {gpu.status for gpu in gpus.values()} == {"ok"}
    gpu = gpus[0]
    assert (gpu.util_percent, gpu.memory_util_percent, gpu.temperature_c) == (95, 40, 58)
    assert (gpu.power_w, gpu.limit_w) == (540, 700)
    assert gpu.used_bytes == 60 * GIB
    assert (gpu.sm_clock_mhz, gpu.sm_clock_max_mhz, gpu.memory_clock_mhz, gpu.pstate) == (1755, 1980, 2619, 0)
    assert (gpu.pcie_rx_bytes_s, gpu.pcie_tx_bytes_s) == (1_024_000, 2_048_000)
    assert gpu.minor == 0
    assert (gpus[3].throttle, gpus[3].ecc_corrected, gpus[3].ecc_uncorrected) == (("power cap", "hot (driver)"), 7, 1)
    assert gpus[3].name == "NVIDIA A100"
    assert [(p.pid, p.used_bytes, p.visible) for p in gpus[2].processes] == [(os.getpid(), 60300 << 20, True)]
    assert len({gpu.uuid for gpu in gpus.values()}) == 8


def test_mig_instances_are_shown_where_the_driver_gives_no_utilisation(tmp_path: Path) -> None:
    driver = StandInDriver(tmp_path, "gpus 2\ngpu 1 mig=1 mig_parts=3")
    with gpu_probe(driver.environment) as probe:
        probe.until(lambda probe: probe.gpus and probe.gpus[1].mig, "MIG instances")
        gpu = probe.gpus[1]
    assert gpu.status == "ok"
    assert gpu.util_percent is None
    assert [part.index for part in gpu.mig or ()] == [0, 1, 2]
    assert all(part.name and part.name.endswith("MIG 1g.10gb") and part.uuid and part.total_bytes for part in gpu.mig or ())


def test_an_xid_event_is_told(tmp_path: Path) -> None:
    driver = StandInDriver(tmp_path, "gpus 2")
    with gpu_probe(driver.environment) as probe:
        probe.until(lambda probe: probe.gpus and probe.gpus[1].status == "ok", "a first reading")
        driver.says("gpus 2\ngpu 1 fail=lost\nxid 1 79")
        probe.until(lambda probe: probe.gpus[1].status == "lost" and probe.gpus[1].xid == 79, "lost with its Xid")
        assert probe.gpus[0].status == "ok"
        assert probe.gpus[0].xid is None
        assert probe.gpus[1].util_percent == 95  # the last good value stays


def test_pids_that_nobody_here_has_are_marked(tmp_path: Path) -> None:
    nobody = 4_100_000  # above the highest pid that Linux gives
    driver = StandInDriver(tmp_path, f"gpus 1\nproc 0 {nobody} mem_mib=60300\nproc 0 {os.getpid()} mem_mib=100")

    def marked(probe: GpuProbe) -> bool:
        return any(not process.visible for gpu in probe.gpus.values() for process in gpu.processes)

    with gpu_probe(driver.environment) as probe:
        probe.until(marked, "the pid marked as not to be seen")
        assert nobody in {process.pid for process in probe.gpus[0].processes if not process.visible}


def test_no_driver_is_absence_and_no_fault(tmp_path: Path) -> None:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    with gpu_probe(environment) as probe:
        probe.until(absent, "absence")
        assert (absent(probe) or "").startswith("no NVIDIA driver here (libnvidia-ml.so.1 not found)")
        assert problem(probe) is None


def test_a_driver_without_gpus_is_absence(tmp_path: Path) -> None:
    with gpu_probe(StandInDriver(tmp_path, "gpus 0").environment) as probe:
        probe.until(absent, "absence")
        assert (absent(probe) or "").startswith("no GPU here: the NVIDIA driver lists none")


@pytest.mark.parametrize(
    ("init", "says", "mend"),
    [
        ("driver_not_loaded", "not loaded in the kernel", "sudo modprobe nvidia"),
        ("mismatch", "differ in version", "reboot"),
        ("noperm", "refuses this user", "usermod"),
        ("unknown", "does not start", "nvidia-smi"),
    ],
)
def test_a_driver_that_refuses_says_why_and_what_mends_it(tmp_path: Path, init: str, says: str, mend: str) -> None:
    driver = StandInDriver(tmp_path, f"init {init}")
    with gpu_probe(driver.environment) as probe:
        probe.until(problem, "a problem")
        line = problem(probe) or ""
        assert says in line
        assert mend in line
        assert "\n" not in line
        driver.says("gpus 1")
        probe.until(lambda probe: probe.gpus and probe.gpus[0].status == "ok", "a driver that was mended")
        probe.until(lambda probe: problem(probe) is None, "health again")


def test_one_value_that_fails_is_unknown_and_the_gpu_stays_well(tmp_path: Path) -> None:
    driver = StandInDriver(tmp_path, "gpus 1\nproc 0 self mem_mib=100")

    def gpu(probe: GpuProbe) -> Gpu:
        return probe.gpus.get(0, Gpu(0))

    with gpu_probe(driver.environment) as probe:
        probe.until(lambda probe: gpu(probe).power_w and gpu(probe).processes, "values")
        driver.says("gpus 1\ngpu 0 fail=unknown fail_in=PowerUsage")
        probe.until(lambda probe: gpu(probe).power_w is None, "power unknown")
        assert (gpu(probe).status, gpu(probe).util_percent) == ("ok", 95)
        driver.says("gpus 1\ngpu 0 fail=noperm fail_in=RunningProcesses")
        probe.until(lambda probe: "processes" in gpu(probe).denied, "processes refused")
        assert (gpu(probe).status, gpu(probe).processes) == ("ok", ())


def test_a_binding_of_another_age_costs_only_the_values_that_it_lacks(tmp_path: Path) -> None:
    lacking = "import pynvml; del pynvml.nvmlDeviceGetPowerUsage, pynvml.nvmlDeviceGetTemperature"
    older = f"{lacking}; from hangtop.probe.__main__ import main; main()"
    with gpu_probe(StandInDriver(tmp_path, "gpus 1").environment, program=("-c", older)) as probe:
        probe.until(lambda probe: probe.gpus and probe.gpus[0].read_at, "a first round")
        gpu = probe.gpus[0]
    assert (gpu.status, gpu.power_w, gpu.temperature_c, gpu.util_percent) == ("ok", None, 55, 95)
