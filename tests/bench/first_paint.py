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
BUDGET_S, BARE_APP_S = 0.35, 0.16
"""The budget was set on a machine where a bare Textual app takes 0.16 s. As a ratio to that app it holds on any."""


def rows(options: Options) -> Iterator[Row]:
    """Runs are interleaved, so that a busy moment of the machine meets all three alike."""
    with scratch() as folder:
        small = write_log(folder / "small.log", SMALL)
        big = write_log(folder / "big.log", options.size)
        floors, smalls, bigs = [], [], []
        for command in ((sys.executable, "-m", "tests.bench.floor_app"), _hangtop(small)):
            _painted_s(command, LAST if "--log" in command else "floor-is-painted")  # compiled and in the page cache from here on
        for _ in range(RUNS):
            floors.append(_painted_s((sys.executable, "-m", "tests.bench.floor_app"), "floor-is-painted"))
            smalls.append(_painted_s(_hangtop(small), LAST))
            bigs.append(_painted_s(_hangtop(big), LAST))
    floor, of_small, of_big = (median(wall_s for wall_s, _ in runs) for runs in (floors, smalls, bigs))
    cpu_floor, cpu = (median(cpu_s for _, cpu_s in runs) for runs in (floors, bigs))
    yield Row("bare Textual app: its text on the screen", floor, "s")
    yield Row(f"last line of a {in_words(SMALL)} log on the screen", of_small, "s")
    yield Row(f"last line of a {in_words(options.size)} log on the screen", of_big, "s")
    yield Row("the same over the bare app, ratio", of_big / floor, "x", BUDGET_S / BARE_APP_S)
    yield Row(f"{in_words(options.size)} over {in_words(SMALL)}, ratio", of_big / of_small, "x", 1.1)
    yield Row(f"quickest of {RUNS}: bare app", min(floors)[0], "s")
    yield Row(f"quickest of {RUNS}: last line of a {in_words(options.size)} log on the screen", min(bigs)[0], "s")
    yield Row("CPU of the screen until then: bare app", cpu_floor, "s")
    yield Row("CPU of the screen until then: hangtop", cpu, "s")
    yield Row("CPU of the screen until then: hangtop over the bare app", cpu - cpu_floor, "s")


def _hangtop(log: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off")


def _painted_s(command: tuple[str, ...], text: str) -> tuple[float, float]:
    """Seconds until the text is on the screen, and the CPU seconds that the program itself took so far."""
    with PtyMeter(command) as terminal:
        wall_s = terminal.until(text)
        return wall_s, sum(psutil.Process(terminal.process.pid).cpu_times()[:2])
