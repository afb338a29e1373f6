"""The driver hangs, live and before the start: what answers goes on, what does not says since when, the probe can be left."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from hangtop.probe.gpu.node import RETRY_AFTER_S
from hangtop.records.gpu import Gpu, GpuReading
from hangtop.records.health import Heartbeat
from hangtop.state.gpu_history import fold_gpus
from tests.fakes.frozen_disk import frozen_disk
from tests.fakes.nvml.stand_in import GpuProbe, StandInDriver, gpu_probe
from tests.fakes.processes import PATIENCE_S

BACK_WITHIN_S = 10.0
"""It would be never, before the disk is thawed."""


def well(probe: GpuProbe) -> bool:
    return bool(probe.gpus) and {gpu.status for gpu in probe.gpus.values()} == {"ok"}


def beats(probe: GpuProbe) -> int:
    return sum(isinstance(reading.value, Heartbeat) for reading in probe.readings)


def fresh(probe: GpuProbe, index: int) -> bool:
    gpu = probe.gpus[index]
    last = next(reading.at for reading in reversed(probe.readings) if reading.source == "gpu")
    return gpu.status == "ok" and gpu.read_at is not None and last - gpu.read_at < 3


def test_each_gpu_fails_in_its_own_way_and_the_others_stay_live(tmp_path: Path) -> None:
    driver = StandInDriver(tmp_path, "gpus 8\ngpu * util=94")
    with gpu_probe(driver.environment) as probe:
        probe.until(well, "eight GPUs that are well")
        driver.says(
            """
            gpus 8
            gpu * util=50
            gpu 1 fail=hang
            gpu 2 fail=lost
            gpu 3 fail=unknown
            gpu 4 fail=reset
            gpu 5 fail=notsupported
            gpu 6 fail=noperm
            gpu 7 fail=hang_d
            """
        )
        probe.until(lambda probe: probe.was(1, "late"), "late after 3 s")
        words = {
            0: "ok", 1: "no answer", 2: "lost", 3: "unknown error",
            4: "reset needed", 5: "not supported", 6: "no permission", 7: "no answer",
        }  # fmt: skip

        def each_in_its_own_way(probe: GpuProbe) -> bool:
            last = probe.last
            return last is not None and {gpu.index: gpu.status for gpu in last.gpus} == words and last.stuck_since is None

        probe.until(each_in_its_own_way, "no answer after 10 s, and GPU 0 well")
        probe.until(lambda probe: fresh(probe, 0) and probe.gpus[0].util_percent == 50, "new values of GPU 0")
        assert all(probe.gpus[index].util_percent == 94 for index in (1, 2, 3, 4, 6, 7))  # the last good values
        assert probe.gpus[1].since is not None
        assert probe.gpus[1].read_at is not None
        driver.says("gpus 8\ngpu * util=70")
        probe.until(well, "all well again")
        probe.until(lambda probe: probe.gpus[1].util_percent == 70, "new values")


def test_a_driver_that_serialises_its_calls_is_stuck_as_a_whole(tmp_path: Path) -> None:
    driver = StandInDriver(tmp_path, "gpus 4")
    with gpu_probe(driver.environment) as probe:
        probe.until(well, "four GPUs that are well")
        driver.says("gpus 4\nglobal_lock 1\ngpu 2 fail=hang")
        probe.until(lambda probe: probe.last and probe.last.stuck_since, "the whole driver stuck")
        assert {gpu.status for gpu in probe.gpus.values()} == {"no answer"}
        probe.until(lambda probe: probe.health and "does not answer" in (probe.health.problem or ""), "the source's own trouble")
        before = beats(probe)
        probe.until(lambda probe: beats(probe) > before + 1, "heartbeats that go on")
        driver.says("gpus 4")
        probe.until(well, "all well again")
        probe.until(lambda probe: probe.health and probe.health.problem is None, "health again")


def test_slow_calls_make_late_values_and_a_note_but_no_silence(tmp_path: Path) -> None:
    driver = StandInDriver(tmp_path, "gpus 2\ngpu 1 fail=slow:1500")
    with gpu_probe(driver.environment) as probe:
        probe.until(lambda probe: probe.gpus and probe.gpus[1].read_at, "a first whole round")
        found: list[tuple[GpuReading, Gpu]] = []

        def late(probe: GpuProbe) -> bool:
            last = probe.last
            found[:] = [(last, gpu) for gpu in last.gpus if gpu.index == 1 and gpu.status == "late"] if last else []
            return bool(found)

        probe.until(late, "late")
        ((last, gpu),) = found
        assert all(re.fullmatch(r"the driver is slow: a call takes \d+\.\d s", note) for note in last.notes), last.notes
        assert len(last.notes) == 1
        took = re.fullmatch(r"calls take (\d+\.\d) s", gpu.why)
        assert took is not None
        assert float(took[1]) >= 1.5  # more, where the machine has little time for us
        probe.until(lambda probe: fresh(probe, 0), "a new value of GPU 0")


def test_a_gpu_that_hangs_or_is_lost_before_the_start_has_its_row(tmp_path: Path) -> None:
    driver = StandInDriver(tmp_path, "gpus 4\ngpu 1 fail=hang\ngpu 2 fail=lost")
    with gpu_probe(driver.environment) as probe:
        probe.until(lambda probe: probe.gpus and probe.gpus[1].status == "no answer", "no answer")
        assert [gpu.index for gpu in probe.gpus.values()] == [0, 1, 2, 3]
        assert (probe.gpus[2].status, probe.gpus[2].why) == ("lost", "fell off the bus")
        probe.until(lambda probe: fresh(probe, 0) and fresh(probe, 3), "new values of the others")


def test_after_a_reload_of_the_driver_the_gpus_come_back_under_their_index(tmp_path: Path) -> None:
    """What was opened before the reload never answers again: NVML is opened anew, by and by."""
    driver = StandInDriver(tmp_path, "gpus 4\ngpu 2 uuid=GPU-two util=30")
    with gpu_probe(driver.environment) as probe:
        probe.until(well, "four GPUs that are well")
        driver.says("load 1\ninit driver_not_loaded\ngpus 4")
        probe.until(lambda probe: probe.was(2, "unknown error"), "errors of all GPUs")
        probe.until(lambda probe: probe.health and probe.health.problem, "a driver that is not loaded")
        driver.says("load 2\ndriver 580.1\ngpus 3\ngpu 0 uuid=GPU-two util=31")
        probe.until(lambda probe: well(probe) and probe.last is not None and probe.last.driver == "580.1", "the new driver")
        known = None
        for reading in probe.readings:
            known = fold_gpus(known, reading.value, reading.at) if isinstance(reading.value, GpuReading) else known
        assert known is not None
        assert {gpu.index: gpu.util_percent for gpu in known.reading.gpus if gpu.uuid == "GPU-two"} == {2: 31}


def test_a_gpu_that_was_reset_comes_back_while_the_others_stay(tmp_path: Path) -> None:
    """What is lost for who opened NVML before is well for who opens it now: a child finds out first."""
    driver = StandInDriver(tmp_path, "gpus 4\ngpu * util=40")
    with gpu_probe(driver.environment) as probe:
        probe.until(well, "four GPUs that are well")
        driver.says("gpus 4\ngpu * util=40\ngpu 2 resets=1 fail=reset")
        probe.until(lambda probe: probe.was(2, "lost"), "one lost")
        driver.says("gpus 4\ngpu * util=60\ngpu 2 resets=1 util=5")
        probe.until(lambda probe: well(probe) and probe.gpus[2].util_percent == 5, "it is back", PATIENCE_S + RETRY_AFTER_S[0])
        told = [reading.value for reading in probe.readings if isinstance(reading.value, GpuReading) and reading.value.gpus]
        assert {gpu.status for value in told for gpu in value.gpus if gpu.index != 2} <= {"ok", "reading", "late"}
        probe.until(lambda probe: fresh(probe, 0), "a new value of GPU 0")


def test_a_gpu_that_stays_broken_costs_the_others_nothing(tmp_path: Path) -> None:
    driver = StandInDriver(tmp_path, "gpus 2\ngpu 1 fail=lost")
    with gpu_probe(driver.environment) as probe:
        probe.until(lambda probe: probe.gpus and probe.gpus[1].status == "lost", "one lost")
        own = probe.process.pid
        probe.until(lambda _: set(driver.users()) - {own}, "a child that tries", PATIENCE_S + RETRY_AFTER_S[0])
        tried = len(probe.readings)
        probe.until(lambda probe: len(probe.readings) > tried + 6, "looks after it")
        assert driver.calls(own)["nvmlInitWithFlags"] == 1
        probe.until(lambda probe: fresh(probe, 0), "a new value of GPU 0")


def test_an_nvml_that_hangs_at_its_start_leaves_the_other_sources_alone(tmp_path: Path) -> None:
    driver = StandInDriver(tmp_path, "init hang")
    with gpu_probe(driver.environment, "gpu", "procs") as probe:
        probe.until(lambda probe: probe.last and probe.last.stuck_in == "nvmlInit", "the start named as stuck")
        probe.until(lambda probe: probe.health and "nvmlInit has not returned" in (probe.health.problem or ""), "trouble")
        assert any(reading.source == "procs" for reading in probe.readings)
        driver.says("gpus 2")
        probe.until(well, "a driver that came back")


@pytest.mark.parametrize("state", ["init hang", "gpus 8\nglobal_lock 1\ngpu 0 fail=hang", "gpus 8\ngpu * fail=hang_d"])
def test_a_probe_in_a_hung_driver_ends_with_its_pipe(tmp_path: Path, state: str) -> None:
    driver = StandInDriver(tmp_path, state)
    with gpu_probe(driver.environment) as probe:
        probe.until(lambda probe: beats(probe) >= 3, "a probe that lives")
        assert probe.process.stdin is not None
        probe.process.stdin.close()
        probe.process.wait(PATIENCE_S)


def test_a_probe_in_true_uninterruptible_sleep_can_be_left(tmp_path: Path) -> None:
    """Not even SIGKILL ends it. Who started it must not wait for it, and closing the pipes must not wait either."""
    driver = StandInDriver(tmp_path, "gpus 2\ngpu 1 fail=hang_file")
    where = {"FAKENVML_DFILE": str(tmp_path / "disk" / "write-here")}
    with frozen_disk(tmp_path, "write-here") as disk, gpu_probe(driver.environment | where) as probe:
        probe.until(lambda probe: probe.gpus and probe.gpus[1].status in ("late", "no answer"), "a call in D state")
        probe.until(lambda probe: fresh(probe, 0), "a new value of GPU 0")
        before = beats(probe)
        probe.until(lambda probe: beats(probe) > before, "heartbeats that go on")
        began = time.monotonic()
        assert probe.process.stdin is not None
        probe.process.stdin.close()
        probe.process.kill()
        assert time.monotonic() - began < BACK_WITHIN_S
        with pytest.raises(subprocess.TimeoutExpired):
            probe.process.wait(1.0)
        subprocess.run(["fsfreeze", "-u", str(disk)], check=True)
