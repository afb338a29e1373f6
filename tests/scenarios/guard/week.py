"""A week of a run before the eyes of one guard, as fast as it can be read: real files, the clock of the run.

The week is planned, so what is to be told is known: a hang on each day, a loss that is no number, a disk that fills. Between two
looks lie ten seconds of the run.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import psutil

from hangtop.common import clock
from hangtop.guard.book_file import BookFile
from hangtop.guard.lines_out import LinesOut
from hangtop.guard.policy import Policy, When
from hangtop.guard.teller import Teller
from hangtop.guard.watch import GuardWatch
from hangtop.records.host import Disk, HostReading
from hangtop.records.reading import Reading
from hangtop.state.run_state import fold
from tests.fakes.log_session import Session, append
from tests.scenarios.hours.replay import look

LOOK_S, STEP_S, HOUR_S, DAY_S = 10, 20, 3600, 86_400
BEGINS = 1_768_000_000.0
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HANG_S, NAN_S, FULL_S = 1200, 600, 1800
"""How long each of them lasts."""
POLICY = Policy(when=(When(("stalled", "hung", "nan", "disk"), ("notify", "run"), confidence="possible", run=("true",)),))
MOST_GROWTH_BYTES, WARM_S = 24 << 20, DAY_S // 4
"""What a week may add to the memory of the first hours; a leak of one look in a hundred would be far more."""


class Time:
    """The clock of the run. A Mock would keep each of its calls."""

    at = BEGINS

    def now(self) -> float:
        return self.at


def hangs(days: int) -> list[int]:
    """When the run falls silent: once a day, never at the same hour."""
    hours = random.Random(7)
    return [day * DAY_S + hours.randrange(2, 20) * HOUR_S for day in range(days)]


def faults_of_week(folder: Path, days: int = 7) -> list[str]:
    """What was missed or told twice, and what has grown."""
    return asyncio.run(_watched(folder, days))


async def _watched(folder: Path, days: int) -> list[str]:
    log, events = folder / "train.log", folder / "events.jsonl"
    silent = hangs(days)
    nans, fulls = [at + 2 * HOUR_S for at in silent], [at + 3 * HOUR_S for at in silent]
    time = Time()
    with mock.patch.object(clock, "now", time.now), events.open("ab") as out, (folder / "journal").open("ab") as journal:
        log.write_text("")
        session = Session(log, stall_s=120.0)
        teller = Teller(("train.log",), LinesOut(out.fileno()), LinesOut(journal.fileno()), clock.now)
        file = BookFile(session.spec, folder)
        watch = GuardWatch(session.spec, POLICY, file, teller, now=clock.now)
        sizes: list[tuple[int, int]] = []
        for at in range(0, days * DAY_S, LOOK_S):
            time.at = BEGINS + at
            if at in silent:  # else a silence after the same line would be known by the third day
                append(log, f"a note of {DAYS[silent.index(at) % len(DAYS)]}\n")
            _write(log, at, _in(at, silent, HANG_S), _in(at, nans, NAN_S))
            look(session)
            disk = Disk("/data", 100, 0 if _in(at, fulls, FULL_S) else 60)
            host = HostReading(cores=8, memory_bytes=100, available_bytes=60, disks=(disk,))
            session.state = fold(session.state, Reading("host", "here", clock.now(), host))
            assert not watch.look(session.state)
            await _deeds(watch)
            if at % HOUR_S == 0 and at >= WARM_S:
                gc.collect()
                sizes.append((psutil.Process().memory_info().rss, psutil.Process().num_fds()))
        session.source.close()
        file.close()
    return [*_faults(events, days), *_growth(sizes)]


async def _deeds(watch: GuardWatch) -> None:
    """Until what was begun has ended: its own time is not that of the run."""
    await asyncio.sleep(0)
    while watch.acts:
        await asyncio.sleep(0.01)


def _write(log: Path, at: int, is_silent: bool, is_nan: bool) -> None:
    """A step line each twenty seconds; the log is rotated each day."""
    if is_silent or at % STEP_S:
        return
    if at and at % DAY_S == 0:
        log.rename(log.with_suffix(".log.1"))
    step = at // STEP_S
    append(log, f"step {step}/1000000 loss {'nan' if is_nan else f'{2 + 0.01 * (step % 5):.4f}'} lr 1e-4\n")
    os.utime(log, (BEGINS + at,) * 2)


def _in(at: int, begins: list[int], length_s: int) -> bool:
    return any(begin <= at < begin + length_s for begin in begins)


def _faults(events: Path, days: int) -> Iterator[str]:
    """Each is told once, done once, and over once."""
    told = [json.loads(line) for line in events.read_bytes().splitlines()]
    count = Counter((event["what"], event["name"], event["deed"]) for event in told)
    troubles = sum(times for (what, name, _), times in count.items() if what == "verdict" and name in ("stalled", "hung"))
    if troubles != days:
        yield f"{troubles} hangs were told, of {days}"
    for name in ("nan", "disk"):
        for what in ("sign", "over"):
            if count[what, name, None] != days:
                yield f"{what} {name}: {count[what, name, None]} times, of {days}"
    for name in ("stalled", "nan", "disk"):
        for deed in ("notify", "run"):
            if count["outcome", name, deed] != days:
                yield f"{name} {deed}: {count['outcome', name, deed]} times, of {days}"
    others = {event["name"] for event in told if event["what"] == "verdict"} - {"running", "slow", "stalled"}
    if others:
        yield f"was called {', '.join(sorted(others))}"


def _growth(sizes: list[tuple[int, int]]) -> Iterator[str]:
    first, last = sizes[0], sizes[-1]
    print(f"  memory {first[0] >> 20} → {last[0] >> 20} MiB, descriptors {first[1]} → {last[1]}")
    if last[0] - first[0] > MOST_GROWTH_BYTES:
        yield f"memory grew from {first[0] >> 20} to {last[0] >> 20} MiB"
    if last[1] > first[1]:
        yield f"descriptors grew from {first[1]} to {last[1]}"
