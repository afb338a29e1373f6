"""What watching 8 GPUs costs: NVML calls, CPU, memory and bytes of a probe on the stand-in driver.

A real driver takes milliseconds a call, most of them asleep; `LATENCY_US` imitates that.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from hangtop.records import wire
from tests.bench.options import Options
from tests.bench.row import MIB, Row
from tests.fakes.nvml.stand_in import GpuProbe, StandInDriver, gpu_probe

LATENCY_US = 300


def _measured(seconds: float, latency_us: int, *sources: str) -> dict[str, float]:
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


def rows(options: Options) -> Iterator[Row]:
    found = _measured(options.seconds, LATENCY_US, "gpu")
    yield Row("GPU source, 8 GPUs: NVML calls", found["calls_s"], "/s", 100)
    yield Row("GPU source, 8 GPUs: CPU of a probe with it alone", found["cpu_percent"], "%")
    yield Row("GPU source, 8 GPUs: RSS of a probe with it alone", found["rss_mib"], "MiB", 40)
    yield Row("GPU source, 8 GPUs: through the pipe", found["bytes_s"], "B/s")
