"""What the log source alone costs, in a process of its own: time to the first reading, catch-up, memory, and following.

The numbers are of the source without the probe's other threads; `following` measures the whole.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Iterator

from hangtop.common import clock
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.log_source import LogSource
from hangtop.records.log import LogReading
from hangtop.records.watch_spec import WatchSpec
from tests.bench.following import write_live
from tests.bench.logs import in_child, in_words, scratch, write_log
from tests.bench.options import Options
from tests.bench.row import Row

MOST_SECONDS = 6.0


def rows(options: Options) -> Iterator[Row]:
    with scratch() as folder:
        sizes = (options.size // 5, options.size)
        logs = [write_log(folder / f"{size}.log", size) for size in sizes]
        found = [in_child(_catch_up, str(log)) for log in logs]
        live = folder / "live.log"
        live.touch()
        followed = in_child(_follow, str(live), min(options.seconds, MOST_SECONDS))
    for size, (first_s, cpu_s, peak_mb) in zip(sizes, found, strict=True):
        yield Row(f"log source, {in_words(size)}: first reading", 1e3 * first_s, "ms")
        yield Row(f"log source, {in_words(size)}: caught up", size / cpu_s / 1e6, "MB/s")
        yield Row(f"log source, {in_words(size)}: peak RSS", peak_mb, "MB")
    yield Row(f"log source: peak RSS, {in_words(sizes[1])} over {in_words(sizes[0])}", found[1][2] / found[0][2], "x", 1.1)
    yield Row("log source follows 100,000 lines/s: CPU", followed, "%")


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _catch_up(path: str) -> tuple[float, float, float]:
    """Reads a whole file as the probe does: seconds to the first reading, CPU seconds, peak RSS in MB."""
    source = LogSource(ProbeContext(WatchSpec(logs=(path,))))
    before, began, first_s = _cpu_s(), time.monotonic(), 0.0
    reading: LogReading | None = None
    while reading is None or not reading.caught_up or reading.lines is None:
        for value in source.read(clock.now()):
            reading, first_s = value, first_s or time.monotonic() - began
        time.sleep(0.001)
    source.close()
    return first_s, _cpu_s() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _follow(path: str, seconds: float) -> float:
    """Follows a live writer at the probe's own pace: CPU percent of a core."""
    source = LogSource(ProbeContext(WatchSpec(logs=(path,))))
    list(source.read(clock.now()))
    writer = multiprocessing.get_context("spawn").Process(target=write_live, args=(path, seconds))
    writer.start()
    while not any(reading.bytes for reading in source.read(clock.now())):
        time.sleep(source.interval_s)
    before, began = _cpu_s(), time.monotonic()
    while writer.is_alive():
        list(source.read(clock.now()))
        time.sleep(source.interval_s)
    writer.join()
    cpu, wall = _cpu_s() - before, time.monotonic() - began
    source.close()
    return 100 * cpu / wall
