"""What a step of many ranks costs the probe: lines read, facts joined, secrets taken out, the reading written for the pipe.

At four sizes, so that the slope is seen; with one text for all ranks, and where each tells a loss of its own; in one file, and in
many. The time of the lines is told, so that readings come as often as for a writer that takes a third of a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from hangtop.common import clock
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.log_source import LogSource
from hangtop.probe.without_secrets import SecretFilter
from hangtop.records import wire
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from tests.bench.logs import in_child, scratch
from tests.bench.options import Options
from tests.bench.row import Row, slopes

SIZES = (256, 1024, 4096, 16384)
PARTS, PART_S, STEP_S = 3, 0.1, 5.0
"""A step is written in so many parts, so far apart; the next one begins so much later."""
WARM, STEPS = 3, 9
QUIET_READS = 10
MANY_RANKS, A_FILE = 4096, 8

Say = Callable[[int, int], str]


def alike(rank: int, step: int) -> str:
    return f"[rank{rank}]: step {step}/5000 loss 1.5"


def own_loss(rank: int, step: int) -> str:
    return f"[rank{rank}]: step {step}/5000 loss {1 + (rank * 7 + step) % 1000 / 1000:.3f} tok/s {9000 + rank % 1000}"


def rows(options: Options) -> Iterator[Row]:
    with scratch() as folder:
        costs = {ranks: in_child(_step_ms, str(folder / f"{ranks}"), ranks, 1, alike) for ranks in SIZES}
        own_ms = in_child(_step_ms, str(folder / "own"), 1024, 1, own_loss)
        spread = {
            ranks: in_child(_step_ms, str(folder / f"spread{ranks}"), ranks, ranks // A_FILE, alike)
            for ranks in (512, 1024, 2048, MANY_RANKS)
        }
    for ranks, cost_ms in costs.items():
        yield Row(f"probe: CPU of a step of {ranks:,} ranks", cost_ms, "ms", 40.0 if ranks == 1024 else None)
    yield Row("probe: CPU of a step of 1,024 ranks, each with its own loss", own_ms, "ms", 40.0)
    yield from slopes(costs, "a rank")
    for ranks, cost_ms in spread.items():
        yield Row(f"probe: CPU of a step of {ranks:,} ranks in {ranks // A_FILE} files", cost_ms, "ms")
    yield from slopes(spread, "a rank")
    yield Row(f"{MANY_RANKS:,} ranks in {MANY_RANKS // A_FILE} files over one file", spread[MANY_RANKS] / costs[MANY_RANKS], "x")


def _step_ms(folder: str, ranks: int, files: int, say: Say) -> float:
    """The median CPU time of a step, in milliseconds."""
    Path(folder).mkdir()
    logs = [Path(folder, f"rank{number}.log" if files > 1 else "train.log") for number in range(files)]
    for log in logs:
        log.write_text("waiting for the first step\n")
    probe = _Probe(folder if files > 1 else str(logs[0]))
    costs = [probe.step(step, ranks, logs, say) for step in range(1, WARM + STEPS + 1)]
    probe.source.close()
    return 1e3 * median(costs[WARM:])


class _Probe:
    """The log source as the probe runs it, under a clock moved by hand."""

    def __init__(self, asked: str) -> None:
        self.source = LogSource(ProbeContext(WatchSpec(logs=(asked,))))
        self._filter = SecretFilter()
        self._now = clock.now()
        self._read()

    def step(self, step: int, ranks: int, logs: list[Path], say: Say) -> float:
        """Seconds of CPU time from the first line of the step until all is told."""
        self._now += STEP_S
        spent = 0.0
        for part in range(PARTS):
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(self._now))
            for number, log in enumerate(logs):
                own = range(number + len(logs) * part, ranks, len(logs) * PARTS)
                with log.open("a") as file:
                    file.write("".join(f"{stamp} {say(rank, step)}\n" for rank in own))
            spent += self._read()
        return spent + sum(self._read() for _ in range(QUIET_READS))

    def _read(self) -> float:
        began = time.thread_time()
        for value in self.source.read(self._now):
            wire.encode(Reading("log", "node", self._now, self._filter.value(value)))
        self._now += PART_S
        return time.thread_time() - began
