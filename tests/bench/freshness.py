"""How old the newest line on the screen is while a log grows, and how long a new step of 1,024 ranks takes to be shown whole."""

from __future__ import annotations

import multiprocessing
import re
import sys
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median

import pyte

from tests.bench.logs import scratch
from tests.bench.options import Options
from tests.bench.pty_meter import PtyMeter
from tests.bench.row import Row

QUIET = "waiting for the first step"
LEAD_S, AFTER_S = 3.0, 2.0
BURST_S = 0.01
RANKS, STEP_S, AT_A_TIME = 1024, 5.0, 64
LINE = re.compile(r"n(\d{9})n")
STEP = re.compile(r"1,024 of 1,024 in step (\d+)")
SIZE = (160, 50)
TOGETHER_S = 0.004
"""Writes nearer to each other are parts of one paint."""


def rows(options: Options) -> Iterator[Row]:
    for rate, budget in ((1_000, 0.25), (100_000, 0.5)):
        waited = _ages(LINE, write_lines, rate, options.seconds)
        yield Row(f"newest line on the screen at {rate:,} lines/s, p50", median(waited), "s", budget)
    waited = _ages(STEP, write_steps, max(4, round(options.seconds / STEP_S)), options.seconds)
    yield Row(f"new step of {RANKS:,} ranks on the screen, p50", median(waited), "s", 0.5)
    yield Row("the same, worst", max(waited), "s")


def _ages(shown: re.Pattern[str], write: Callable[..., None], *given: float) -> list[float]:
    """For each thing written: seconds until the screen showed it, or a later one. `inf` where it never did."""
    with scratch() as folder:
        log, moments = folder / "live.log", folder / "moments"
        log.write_text(f"{QUIET}\n")
        with PtyMeter((sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off"), size=SIZE) as terminal:
            terminal.until(QUIET)
            terminal.read(LEAD_S)
            first = len(terminal.chunks)
            began = time.monotonic() - terminal.elapsed_s
            writer = multiprocessing.get_context("spawn").Process(target=write, args=(str(log), str(moments), *given))
            writer.start()
            while writer.is_alive():
                terminal.read(0.1)
            terminal.read(AFTER_S)
            seen = [(began + moment, numbers) for moment, numbers in _seen(shown, terminal.chunks, first)]
        notes = [line.split() for line in moments.read_text().splitlines()]
    return ages(seen, [(int(number), float(moment)) for number, moment in notes])


def ages(seen: Iterable[tuple[float, list[int]]], written: list[tuple[int, float]]) -> list[float]:
    """For each number written, in seconds: until it or a greater one was seen. `seen`: when, and which numbers. A number that was
    not written by then is none: the digits of two paints."""
    left, found = deque(written), list[float]()
    moments = [moment for _, moment in written]
    for at, numbers in seen:
        known = bisect_right(moments, at)
        newest = written[min(known, len(written) - 1)][0]  # its first lines may stand there before its last
        most = max((number for number in numbers if number <= newest), default=-1)
        while left and left[0][0] <= most and left[0][1] <= at:
            found.append(at - left.popleft()[1])
    return [*found, *(float("inf") for _ in left)]


def _seen(shown: re.Pattern[str], chunks: list[tuple[float, bytes]], first: int) -> Iterator[tuple[float, list[int]]]:
    """The numbers on the screen after each paint: what comes together is one, and its parts are no picture."""
    screen = pyte.Screen(*SIZE)
    stream = pyte.ByteStream(screen)
    for at, (moment, chunk) in enumerate(chunks):
        stream.feed(chunk)
        is_whole = at + 1 == len(chunks) or chunks[at + 1][0] - moment > TOGETHER_S
        if at >= first and is_whole:
            yield moment, [int(found) for found in shown.findall("\n".join(screen.display))]


def write_lines(path: str, moments: str, rate: int, seconds: float) -> None:
    """So many lines a second, in bursts by the clock; the last number of each burst and its moment are noted."""
    each, number = max(1, int(rate * BURST_S)), 0
    began = time.monotonic()
    with open(path, "ab", buffering=0) as log, Path(moments).open("w") as notes:
        for burst in range(int(seconds / BURST_S)):
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            numbers = range(number, number + each)
            log.write("".join(f"{stamp} [rank{n % 8}]: step {n // 8}/90000000 loss 1.50 n{n:09d}n\n" for n in numbers).encode())
            number += each
            notes.write(f"{number - 1} {time.monotonic()}\n")
            time.sleep(max(0.0, began + (burst + 1) * BURST_S - time.monotonic()))


def write_steps(path: str, moments: str, steps: int, _: float) -> None:
    """A step of all ranks every few seconds, a handful of ranks at a time; its number, and when its last line was written."""
    with open(path, "ab", buffering=0) as log, Path(moments).open("w") as notes:
        for step in range(1, steps + 1):
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            for first in range(0, RANKS, AT_A_TIME):
                ranks = range(first, first + AT_A_TIME)
                log.write("".join(f"{stamp} [rank{rank}]: step {step}/5000 loss 1.5\n" for rank in ranks).encode())
                time.sleep(BURST_S)
            notes.write(f"{step} {time.monotonic()}\n")
            notes.flush()
            time.sleep(STEP_S)
