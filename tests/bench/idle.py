"""What hangtop costs when nothing happens: bytes to the terminal, CPU, memory; beside others on the same stand-in driver."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench.logs import LAST, scratch, write_healthy_log
from tests.bench.options import Options
from tests.bench.pty_meter import PtyMeter, Window
from tests.bench.row import Row
from tests.fakes.nvml.stand_in import StandInDriver
from tests.fakes.processes import running

GPUS = "gpus 8\nlatency_us 300\ngpu * jitter=5\nproc * self mem_mib=60300"
SETTLED_S = 8.0
OTHERS = ("nvitop", "nvtop")
"""Other monitors, measured where they are installed."""
BUDGET_PERCENT, NVITOP_PERCENT = 1.5, 0.95
"""The budget was set on a machine where nvitop takes 0.95 %. As a ratio to nvitop it holds on any."""


def rows(options: Options) -> Iterator[Row]:
    with scratch() as folder:
        log = write_healthy_log(folder / "train.log")
        driver = StandInDriver(folder, GPUS)
        with running("sh", "-c", f"exec 3>>{log}; exec sleep 600"):
            _watched(log, driver, 1.0)  # to compile its modules takes a first start some 10 MB, which it keeps
            yield from _rows("quiet log, no GPU", _watched(log, None, options.seconds)[0], gpus=False)
            window, calls_s = _watched(log, driver, options.seconds)
            yield from _rows("quiet log, 8 GPUs", window, gpus=True)
            yield Row("quiet log, 8 GPUs: NVML calls", calls_s, "/s", 50)
        for name in OTHERS:
            if program := shutil.which(name):
                other, calls_s = _other(program, driver, options.seconds)
                yield from _other_rows(name, other, calls_s)
                if name == "nvitop":
                    yield Row(
                        "quiet log, 8 GPUs: CPU over nvitop's", _cpu(window) / _cpu(other), "x", BUDGET_PERCENT / NVITOP_PERCENT
                    )
            else:
                yield Row(f"{name} is not on PATH: not measured", math.nan, "")


def _watched(log: Path, driver: StandInDriver | None, seconds: float) -> tuple[Window, float]:
    command = (sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off")
    with PtyMeter(command, environment=_own(driver) if driver else {}) as terminal:
        terminal.until(LAST)
        terminal.read(SETTLED_S)
        os.utime(log)
        return _window(terminal, driver, seconds)


def _window(terminal: PtyMeter, driver: StandInDriver | None, seconds: float) -> tuple[Window, float]:
    """What this stretch of time costs, and how many NVML calls a second were made in it."""
    before = _calls(driver)
    window = terminal.window(seconds)
    return window, (_calls(driver) - before) / window.seconds


def _calls(driver: StandInDriver | None) -> int:
    return sum(sum(driver.calls(pid).values()) for pid in driver.users()) if driver else 0


def _rows(what: str, window: Window, *, gpus: bool) -> Iterator[Row]:
    yield Row(f"{what}: to the terminal", window.bytes_s, "B/s", 300)
    yield Row(f"{what}: CPU of screen and probe", _cpu(window), "%", BUDGET_PERCENT if gpus else None)
    yield Row(f"{what}: CPU of the screen", window.ui.cpu_percent, "%")
    yield Row(f"{what}: CPU of the probe", window.probe.cpu_percent, "%")
    yield Row(f"{what}: RSS of the screen", window.ui.rss_mib, "MiB")
    yield Row(f"{what}: RSS of the probe", window.probe.rss_mib, "MiB")
    yield Row(f"{what}: RSS of both", window.ui.rss_mib + window.probe.rss_mib, "MiB", 65)
    yield Row(f"{what}: of these pages, each once", _pages_once(window), "MiB")


def _pages_once(window: Window) -> float:
    """What the machine gives for both: the interpreter and its libraries are mapped by each, and are there once."""
    shared = max(cost.rss_mib - cost.uss_mib for cost in (window.ui, window.probe))
    return window.ui.uss_mib + window.probe.uss_mib + shared


def _other(program: str, driver: StandInDriver, seconds: float) -> tuple[Window, float]:
    with PtyMeter((program,), environment=_own(driver)) as terminal:
        terminal.read(SETTLED_S)
        return _window(terminal, driver, seconds)


def _other_rows(name: str, window: Window, calls_s: float) -> Iterator[Row]:
    yield Row(f"{name}, 8 GPUs: to the terminal", window.bytes_s, "B/s")
    yield Row(f"{name}, 8 GPUs: CPU", _cpu(window), "%")
    yield Row(f"{name}, 8 GPUs: RSS", window.ui.rss_mib + window.probe.rss_mib, "MiB")
    yield Row(f"{name}, 8 GPUs: NVML calls", calls_s, "/s")


def _cpu(window: Window) -> float:
    return window.ui.cpu_percent + window.probe.cpu_percent


def _own(driver: StandInDriver) -> dict[str, str]:
    wanted = ("LD_LIBRARY_PATH", "FAKENVML_STATE", "FAKENVML_COUNTS")
    return {name: value for name, value in driver.environment.items() if name in wanted}
