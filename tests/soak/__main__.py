"""`python -m tests.soak --minutes 120 --born 20 --into FOLDER`: hangtop's screen on a real run for hours, in real time.

The run trains, stands, goes on, is killed, starts again and ends, over and over; its log is rotated, the GPUs of a stand-in
driver come and go, processes are born and die beside it. Each half minute memory, descriptors and threads of the screen and its
probe are written to FOLDER/samples.jsonl, and each change of the word for the run to FOLDER/said.jsonl. At the end it prints
what has grown since a quarter of the time, how long the recording is, and which change of the verdict was missed; exit code 1
when a budget is.

It takes about a tenth of a core; start it with `nice`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil

from tests.bench.row import MIB, Row
from tests.fakes.nvml.stand_in import StandInDriver
from tests.fakes.processes import running
from tests.soak.cycle import CYCLE, Phase, Run, driver_state, missed
from tests.soak.screen import Screen

SAMPLE_S, ROTATE_S, GPUS_S = 30.0, 170.0, 45.0
MOST_DRIFT_MIB, MOST_RECORDING_MIB = 2.0, 144.0


class Soak:
    """One soak: `at` is in seconds since it began."""

    def __init__(self, folder: Path, minutes: float, screen: Screen, run: Run, driver: StandInDriver) -> None:
        self._folder, self._seconds, self._screen, self._run, self._driver = folder, minutes * 60, screen, run, driver
        self.samples: list[dict[str, Any]] = []
        self.said: list[tuple[float, str]] = []
        self.phases: list[tuple[float, Phase]] = []

    def last(self) -> None:
        """Until the end of its time."""
        began = time.monotonic()
        phases = itertools.cycle(CYCLE)
        due = {"phase": 0.0, "sample": 60.0, "rotate": ROTATE_S, "gpus": GPUS_S}
        turns = itertools.count(1)
        while (at := time.monotonic() - began) < self._seconds:
            if at >= due["phase"]:
                phase = next(phases)
                self._run.enter(phase)
                self.phases.append((at, phase))
                due["phase"] = at + phase.lasts_s
            if at >= due["rotate"]:
                self._run.rotate()
                due["rotate"] = at + ROTATE_S
            if at >= due["gpus"]:
                self._driver.says(driver_state(next(turns)))
                due["gpus"] = at + GPUS_S
            self._look(at)
            if at >= due["sample"]:
                self._sample(at)
                due["sample"] = at + SAMPLE_S

    def _look(self, at: float) -> None:
        word = self._screen.word(0.5)
        if word and (not self.said or self.said[-1][1] != word):
            self.said.append((at, word))
            self._write("said.jsonl", {"at_s": round(at, 1), "word": word})

    def _sample(self, at: float) -> None:
        sample = {"at_s": round(at, 1), **{name: _held(process) for name, process in self._screen.processes().items()}}
        sample["recording_bytes"] = self.recorded()
        sample["started"] = self._screen.started()
        self.samples.append(sample)
        self._write("samples.jsonl", sample)

    def recorded(self) -> int:
        """Bytes of the recording, all parts together."""
        return sum(path.stat().st_size for path in self._folder.glob("soak.hangtop*"))

    def _write(self, name: str, value: dict[str, Any]) -> None:
        with (self._folder / name).open("a") as file:
            file.write(json.dumps(value) + "\n")

    def rows(self) -> list[Row]:
        """What is told at the end, beside the budgets."""
        rows = []
        for name in ("screen", "probe"):
            told = [sample[name] for sample in self.samples if name in sample]
            if len(told) < 8:
                continue
            quarter, last = told[len(told) // 4 : len(told) // 4 + 4], told[-4:]
            for what, unit, budget in (("rss", "MiB", MOST_DRIFT_MIB), ("descriptors", "", 0), ("threads", "", 0)):
                scale = MIB if what == "rss" else 1
                grown = (min(each[what] for each in last) - min(each[what] for each in quarter)) / scale
                rows.append(Row(f"{name}: {what} more than after a quarter of the time", grown, unit, budget))
        rows.append(Row("recording", self.recorded() / MIB, "MiB", MOST_RECORDING_MIB))
        wrong = missed(self.said, self.phases, self._seconds)
        for line in wrong:
            print(line)
        rows.append(Row(f"of {len(self.phases)} changes missed, or words that do not fit", len(wrong), "", 0))
        return rows


def _held(process: psutil.Process) -> dict[str, float]:
    with process.oneshot():
        cpu = process.cpu_times()
        return {
            "pid": process.pid,
            "rss": process.memory_info().rss,
            "descriptors": process.num_fds(),
            "threads": process.num_threads(),
            "cpu_s": cpu.user + cpu.system,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--born", type=float, default=20.0, help="processes born a second beside the run")
    parser.add_argument("--into", type=Path, required=True)
    given = parser.parse_args()
    given.into.mkdir(parents=True)
    driver = StandInDriver(given.into, driver_state(0))
    kept = ("LD_LIBRARY_PATH", "FAKENVML_STATE", "FAKENVML_COUNTS")
    environment = {**os.environ, **{name: driver.environment[name] for name in kept}}
    with ExitStack() as stack:
        run = Run(given.into)
        run.log.touch()
        stack.callback(run.kill)
        stack.enter_context(running(sys.executable, str(Path(__file__).with_name("churn.py")), str(given.born)))
        screen = stack.enter_context(Screen(run.log, given.into / "soak.hangtop", environment))
        soak = Soak(given.into, given.minutes, screen, run, driver)
        soak.last()
        rows = soak.rows()
    for row in rows:
        print(row)
    return 1 if any(row.verdict == "OVER" for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
