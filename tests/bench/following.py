"""A log that grows by 100,000 lines a second: what is lost, what it costs, how late the screen's event loop wakes meanwhile."""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.logs import in_words, scratch, write_log
from tests.bench.options import Options
from tests.bench.pty_meter import PtyMeter, Window
from tests.bench.row import Row
from tests.fakes.genlog import generate

RATE = 100_000
BURST_S = 0.01
LEAD_S = 3.0
QUIET = "waiting for the first step"
DRAINED_S = 30.0
SETTLED_S = 12.0
"""What the catch-up needed is given back a few seconds after it."""


def rows(options: Options) -> Iterator[Row]:
    with scratch() as folder:
        yield from _live(folder, options.seconds)
        yield from _catching_up(folder, options.size)


def _live(folder: Path, seconds: float) -> Iterator[Row]:
    log, report = folder / "live.log", folder / "live.json"
    log.write_text(f"{QUIET}\n")
    with PtyMeter(_metered(report, log)) as terminal:
        terminal.until(QUIET)
        terminal.read(LEAD_S)
        writer = multiprocessing.get_context("spawn").Process(target=write_live, args=(str(log), seconds + LEAD_S))
        writer.start()
        terminal.read(LEAD_S)
        window = terminal.window(seconds - 1)
        while writer.is_alive():
            terminal.read(0.2)
        said = _when(terminal, report, lambda told: told["bytes"] == log.stat().st_size and told["lines"] is not None)
    written = log.read_bytes().count(b"\n")
    what = f"{written / (seconds + LEAD_S):,.0f} lines/s followed"
    yield Row(f"{what}: lines lost of {written:,}", abs(written - (said["lines"] or 0)), "", 0)
    yield from _cost(what, window, said, screen=15, probe=5)


def _catching_up(folder: Path, size: int) -> Iterator[Row]:
    log, report = write_log(folder / "big.log", size), folder / "big.json"
    with PtyMeter(_metered(report, log)) as terminal:
        said = _when(terminal, report, lambda told: told["caught_up"], 600)
        terminal.read(SETTLED_S)
        window = terminal.window(0.1)
    what = f"catching up {in_words(size)}"
    yield Row(f"{what}: wake-ups late, p99, own part", said["own_ms"]["p99"], "ms", 20)
    yield Row(f"{what}: wake-ups late, p99, machine's part too", said["late_ms"]["p99"], "ms")
    yield Row(f"{what}: RSS of the screen, {SETTLED_S:.0f} s later", window.ui.rss_mib, "MiB", 60)
    yield Row(f"{what}: RSS of the probe, {SETTLED_S:.0f} s later", window.probe.rss_mib, "MiB", 40)


def _cost(what: str, window: Window, said: dict[str, Any], *, screen: float, probe: float) -> Iterator[Row]:
    yield Row(f"{what}: CPU of the probe", window.probe.cpu_percent, "%", probe)
    yield Row(f"{what}: CPU of the screen", window.ui.cpu_percent, "%", screen)
    yield Row(f"{what}: to the terminal", window.bytes_s / 1e3, "kB/s", 120)
    yield Row(f"{what}: wake-ups late, p99, own part", said["own_ms"]["p99"], "ms", 20)
    yield Row(f"{what}: wake-ups late, p99, machine's part too", said["late_ms"]["p99"], "ms")


def _metered(report: Path, log: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.bench.metered_app", str(report), "--log", str(log), "--ray", "off")


def _when(terminal: PtyMeter, report: Path, holds: Any, seconds: float = DRAINED_S) -> dict[str, Any]:
    """What the app says of itself, once this holds; its last word when it never does."""
    end, told = time.monotonic() + seconds, {}
    while time.monotonic() < end:
        terminal.read(0.2)
        if report.exists() and holds(told := json.loads(report.read_text())):
            break
    return told


def write_live(path: str, seconds: float) -> None:
    """`RATE` lines a second of a run, in bursts, by the clock."""
    lines = [line + b"\n" for line in b"".join(generate(20_000_000, mix="train")).split(b"\n")]
    count = int(RATE * BURST_S)
    bursts = [b"".join(lines[start : start + count]) for start in range(0, len(lines) - count, count)]
    began = time.monotonic()
    with open(path, "ab", buffering=0) as file:
        for number in range(int(seconds / BURST_S)):
            file.write(bursts[number % len(bursts)])
            time.sleep(max(0.0, began + (number + 1) * BURST_S - time.monotonic()))
