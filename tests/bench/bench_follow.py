"""Prints what following a log costs: lines a second, CPU, memory, and the time to the first reading.

    python tests/bench/bench_follow.py [--big 5G] [--small 1G] [--seconds 5]

By default the two sizes are scaled down (100 and 500 MB), so that it runs anywhere. Budgets: design §9.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from hangtop import clock
from hangtop.records.log import LogReading
from hangtop.sources.log import LogSource
from hangtop.spec import WatchSpec

RATE = 100_000
BURST_S = 0.01
BLOCK_LINES = 10_000


def lines(count: int) -> Iterator[bytes]:
    """What a run with NCCL_DEBUG=INFO writes: mostly NCCL, some Ray, a bar, and each second a step of one of eight ranks."""
    for n in range(count):
        match n % 1000:
            case 0:
                yield b"[rank%d]: step %d/50000 loss %.4f lr 1e-05 grad_norm 0.8\n" % (n // 1000 % 8, n // 8000, 1.5)
            case k if k % 100 == 1:
                yield b"\r%d%%|####      | %d/50000 [01:40<10:00, 5.00it/s]" % (n % 100, n)
            case k if k % 7 == 2:
                yield b"\x1b[36m(WorkerDict pid=%d)\x1b[0m INFO 2026-01-11 10:05:51,123 buffer %d is ready\n" % (4000 + n % 8, n)
            case _:
                yield b"n1:13395%d:134000 [%d] NCCL INFO Channel %02d/24 : %d[%d] -> %d[%d] via P2P/CUMEM\n" % (
                    n % 8, n % 8, n % 24, n % 8, n % 8, (n + 1) % 8, (n + 1) % 8,
                )  # fmt: skip


def write_file(path: Path, size: int) -> None:
    block = b"".join(lines(BLOCK_LINES))
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(block)


def write_live(path: str, seconds: float) -> None:
    """`RATE` lines a second, in bursts, by the clock."""
    burst = [b"".join(lines(int(RATE * BURST_S)))]
    began = time.monotonic()
    with open(path, "ab", buffering=0) as file:
        for number in range(int(seconds / BURST_S)):
            file.write(burst[0])
            time.sleep(max(0.0, began + (number + 1) * BURST_S - time.monotonic()))


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def rss_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def in_child(work: Callable[..., str], *args: object) -> str:
    """The result of `work` in a fresh process, so that memory and CPU are its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *args).result()


def catch_up(path: str) -> str:
    """Reads a whole file as the probe does."""
    source = LogSource(WatchSpec(logs=(path,)))
    before, began, first_s = cpu_s(), time.monotonic(), 0.0
    reading: LogReading | None = None
    while reading is None or not reading.caught_up or reading.lines is None:
        for value in source.read(clock.now()):
            reading, first_s = value, first_s or time.monotonic() - began
        time.sleep(0.001)
    cpu, size = cpu_s() - before, os.path.getsize(path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    source.close()
    return (
        f"{size / 1e6:8.0f} MB  first reading {first_s * 1e3:6.1f} ms   catch-up {size / cpu / 1e6:6.0f} MB/s of CPU "
        f"({cpu:.2f} s, {time.monotonic() - began:.2f} s wall)   {reading.lines:,} lines   peak RSS {peak:.0f} MB"
    )


def follow(path: str, seconds: float) -> str:
    """Follows a live writer at the probe's own pace."""
    source = LogSource(WatchSpec(logs=(path,)))
    list(source.read(clock.now()))
    writer = multiprocessing.get_context("spawn").Process(target=write_live, args=(path, seconds))
    writer.start()
    before, began = cpu_s(), time.monotonic()
    readings: list[LogReading] = []
    while writer.is_alive() or not readings or readings[-1].bytes < os.path.getsize(path):
        readings += source.read(clock.now())
        time.sleep(source.interval_s)
    writer.join()
    cpu, wall = cpu_s() - before, time.monotonic() - began
    written = Path(path).read_bytes().count(b"\n")
    source.close()
    return (
        f"{written:,} lines written, {readings[-1].lines:,} counted, {written / wall:,.0f} lines/s   "
        f"CPU {100 * cpu / wall:.1f} % of a core   {len(readings) / wall:.1f} readings/s   RSS {rss_mb():.0f} MB"
    )


def literals(path: Path) -> int:
    """All literals of the catalog, one a line, as `rg -f` takes them."""
    from hangtop.logs.catalog import load
    from hangtop.logs.index import Index

    known = [literal for literal in Index(load()).scanner.literals if b"\n" not in literal]
    path.write_bytes(b"\n".join(known) + b"\n")
    return len(known)


def ripgrep(log: Path, patterns: Path) -> str:
    """The same literals with ripgrep, for comparison."""
    program = shutil.which("rg")
    if program is None:
        return "rg is not installed: no comparison"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "-c", "-F", "--no-mmap", "-f", str(patterns), str(log)], stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"rg -c -F with the same literals: {log.stat().st_size / cpu / 1e6:.0f} MB/s of CPU ({cpu:.2f} s)"


def size_of(text: str) -> int:
    units = {"K": 10**3, "M": 10**6, "G": 10**9}
    return int(float(text[:-1]) * units[text[-1]]) if text[-1] in units else int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", type=size_of, default=size_of("100M"))
    parser.add_argument("--big", type=size_of, default=size_of("500M"))
    parser.add_argument("--seconds", type=float, default=5.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hangtop-bench-") as folder:
        live = Path(folder, "live.log")
        live.touch()
        print("follow   ", in_child(follow, str(live), chosen.seconds))
        live.unlink()
        for size in (1_000_000, chosen.small, chosen.big):
            log = Path(folder, "train.log")
            write_file(log, size)
            print("catch up ", in_child(catch_up, str(log)))
        print(f"literals  {literals(Path(folder, 'literals'))}")
        print("compare  ", ripgrep(log, Path(folder, "literals")))


if __name__ == "__main__":
    sys.exit(main())
