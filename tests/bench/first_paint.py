"""How soon the last line of a log is on the screen, whatever the log's size, over a Textual app that shows nothing of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import psutil

from tests.bench.logs import LAST, in_words, scratch, write_log
from tests.bench.options import Options
from tests.bench.pty_meter import PtyMeter
from tests.bench.row import Row

RUNS = 9
SMALL = 1_000_000
FLOOR = "floor-is-painted"
APP_BEGINS = b"\x1b[?1004h"
"""What the app sends first; what was painted before is the first picture."""


def rows(options: Options) -> Iterator[Row]:
    """Runs are interleaved, so that a busy moment of the machine meets all three alike."""
    with scratch() as folder:
        small = write_log(folder / "small.log", SMALL)
        big = write_log(folder / "big.log", options.size)
        floors, smalls, bigs = [], [], []
        for command in ((sys.executable, "-m", "tests.bench.floor_app"), _hangtop(small)):
            _painted(command, LAST if "--log" in command else FLOOR)  # compiled and in the page cache from here on
        for _ in range(RUNS):
            floors.append(_painted((sys.executable, "-m", "tests.bench.floor_app"), FLOOR))
            smalls.append(_painted(_hangtop(small), LAST))
            bigs.append(_painted(_hangtop(big), LAST))
    floor, app, cpu_floor = _medians(floors)
    yield Row("bare Textual app: its text on the screen", floor, "s")
    for size, runs in ((SMALL, smalls), (options.size, bigs)):
        first, app, cpu = _medians(runs)
        yield Row(f"last line of a {in_words(size)} log on the screen", first, "s")
        yield Row("the same over the bare app, ratio", first / floor, "x", 1.0)
        yield Row("the whole screen over the bare app, ratio", app / floor, "x", 1.3)
        yield Row("CPU of the screen's process until then over the bare app, ratio", cpu / cpu_floor, "x")
    yield Row(f"{in_words(options.size)} over {in_words(SMALL)}, ratio", _medians(bigs)[1] / _medians(smalls)[1], "x", 1.1)
    yield Row(f"quickest of {RUNS}: bare app", min(floors)[0], "s")
    yield Row(f"quickest of {RUNS}: last line of a {in_words(options.size)} log on the screen", min(bigs)[0], "s")


def _medians(runs: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    first, app, cpu = (median(column) for column in zip(*runs, strict=True))
    return first, app, cpu


def _hangtop(log: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off")


def _painted(command: tuple[str, ...], text: str) -> tuple[float, float, float]:
    """Seconds until the text is on the screen, until the app has painted it, and the CPU seconds of the program itself then."""
    with PtyMeter(command) as terminal:
        first_s = terminal.until(text)
        app_s = terminal.until(text, behind=APP_BEGINS)
        return first_s, app_s, sum(psutil.Process(terminal.process.pid).cpu_times()[:2])
