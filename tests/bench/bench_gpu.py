"""Prints what watching 8 GPUs costs: NVML calls, CPU, memory and bytes of a probe on the stand-in driver.

    python tests/bench/bench_gpu.py [--seconds 60] [--latency-us 300]

A real driver takes milliseconds a call, most of them asleep; `--latency-us` imitates that. Budgets: design §9 and issue 3
(at most 100 NVML calls/s for 8 GPUs, 40 MiB for the probe).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[2]))

from hangtop import wire
from tests.fakes.nvml.stand_in import GpuProbe, StandInDriver, gpu_probe

MIB = 2**20


def measured(seconds: float, latency_us: int, *sources: str) -> dict[str, float]:
    """One probe with these sources, after its start, for so long."""
    with tempfile.TemporaryDirectory() as folder:
        driver = StandInDriver(Path(folder), f"gpus 8\nlatency_us {latency_us}\ngpu * jitter=5\nproc * self mem_mib=60300")
        with gpu_probe(driver.environment, *sources) as probe:
            probe.until(lambda probe: probe.readings, "a heartbeat")
            time.sleep(5)
            return _window(probe, driver, seconds, gpu="gpu" in sources)


def _window(probe: GpuProbe, driver: StandInDriver, seconds: float, *, gpu: bool) -> dict[str, float]:
    process = psutil.Process(probe.process.pid)
    calls = sum(driver.calls(process.pid).values()) if gpu else 0
    cpu, first, began = sum(process.cpu_times()[:2]), len(probe.readings), time.monotonic()
    time.sleep(seconds)
    elapsed_s = time.monotonic() - began
    made = sum(driver.calls(process.pid).values()) - calls if gpu else 0
    memory = process.memory_full_info()
    sent = [reading for reading in probe.readings[first:] if reading.source == "gpu"]
    return {
        "calls_s": made / elapsed_s,
        "cpu_percent": 100 * (sum(process.cpu_times()[:2]) - cpu) / elapsed_s,
        "rss_mib": memory.rss / MIB,
        "uss_mib": memory.uss / MIB,
        "threads": process.num_threads(),
        "bytes_s": sum(len(wire.encode(reading)) for reading in sent) / elapsed_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--latency-us", type=int, default=300)
    given = parser.parse_args()
    print(f"8 stand-in GPUs, {given.latency_us} us a call, {given.seconds:.0f} s")
    print(f"{'probe with':<16}{'calls/s':>9}{'CPU %':>8}{'RSS MiB':>9}{'USS MiB':>9}{'threads':>9}{'bytes/s':>9}")
    for sources in (("checkpoints",), ("gpu",)):
        found = measured(given.seconds, given.latency_us, *sources)
        name = "no GPU source" if "gpu" not in sources else "the GPU source"
        print(
            f"{name:<16}{found['calls_s']:>9.0f}{found['cpu_percent']:>8.2f}{found['rss_mib']:>9.1f}{found['uss_mib']:>9.1f}"
            f"{found['threads']:>9.0f}{found['bytes_s']:>9.0f}"
        )


if __name__ == "__main__":
    main()
