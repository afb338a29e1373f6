"""A thousand ranks, as many GPUs on 128 nodes and as many Ray actors on one screen: CPU time of a refresh, and of a key. At four
sizes, so that the slope is seen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from statistics import median

from msgspec.structs import replace
from textual.pilot import Pilot

from hangtop.records.gpu import Gpu, GpuReading
from hangtop.records.log import LogFile, LogLine, LogReading, Progress, RankLog
from hangtop.records.ray.cluster import RayActor, RayCluster, RayReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import fold
from hangtop.tui.app import HangtopApp
from tests.app.play import Clock, MemoryFeed, settle
from tests.bench.options import Options
from tests.bench.row import Row, slopes

RANKS, NODES, PER_NODE = 1024, 128, 8
SIZES = (256, RANKS, 4096, 10_240)
RUNS = 9
START = 1_768_126_000.0
REFRESH_MS, KEY_MS, KEY_OF_MORE_MS = 20.0, 30.0, 50.0
"""Of 1,024, and of more."""
KEYS = {"down": "choose a rank", "2": "maximise the ranks", "5": "the actors", "6": "the log", "e": "only errors"}


def rows(options: Options) -> Iterator[Row]:
    costs: dict[int, float] = {}
    for ranks in SIZES:
        measured = asyncio.run(_measured(ranks))
        costs[ranks] = measured[0].measured
        yield from measured
    yield from slopes(costs, "a rank")


async def _measured(ranks: int) -> list[Row]:
    clock = Clock(START)
    app = HangtopApp(WatchSpec(logs=("/runs/train.log",)), MemoryFeed(), now=clock)
    refreshes: list[float] = []
    keys: dict[str, list[float]] = {key: [] for key in KEYS}
    async with app.run_test(size=(200, 60)) as pilot:
        for step in range(RUNS + 1):
            clock.now += 1
            refreshes.append(await _cpu_ms(partial(_refreshed, app, pilot, step, ranks)))
        for _ in range(RUNS):
            for key, taken in keys.items():
                await settle(pilot, app)
                before = app.screen
                taken.append(await _cpu_ms(partial(_pressed, pilot, key)))
                assert app.is_running
                assert app.screen is before
    what, key_ms = f"{ranks:,} ranks, GPUs and actors", KEY_MS if ranks <= RANKS else KEY_OF_MORE_MS
    return [
        Row(f"{what}: CPU of a refresh in which all change", median(refreshes[1:]), "ms", REFRESH_MS if ranks == RANKS else None),
        *(Row(f"{what}: CPU of a key ({KEYS[key]})", median(taken), "ms", key_ms) for key, taken in keys.items()),
    ]


async def _cpu_ms(work: Callable[[], Awaitable[object]]) -> float:
    began = time.thread_time()
    await work()
    return 1e3 * (time.thread_time() - began)


async def _pressed(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    await pilot.pause()


async def _refreshed(app: HangtopApp, pilot: Pilot[None], step: int, ranks: int) -> None:
    """What one second brings: a line of every rank, every GPU anew, the actors anew; then one paint."""
    now = app.now()
    app.state = fold(app.state, Reading("log", "n0", now, log_reading(step, now, ranks)))
    for node in range(ranks // PER_NODE):
        app.state = fold(app.state, Reading("gpu", f"n{node}", now, gpu_reading(node, step, now)))
    app.state = fold(app.state, Reading("ray", "n0", now, ray_reading(now, ranks)))
    app.tick()
    await pilot.pause()


def log_reading(step: int, now: float, count: int = RANKS) -> LogReading:
    ranks = tuple(
        RankLog(rank, count, host=f"n{rank // PER_NODE}", pid=4000 + rank, step=step + 100 - (rank == 7), total=5000, last_at=now)
        for rank in range(count)
    )
    lines = tuple(LogLine(0, 1000 * step + n, now, n, f"[rank{n}]:", f"step {step}/5000 loss=1.5") for n in range(200))
    file = LogFile("/runs/train.log", size_bytes=10**9, scanned_bytes=10**9, lines=10**7, modified_at=now)
    return LogReading(
        (file,),
        last_output_at=now,
        last_line="step",
        framework="verl",
        profiles=("verl", "ray"),
        world=count,
        progress=Progress(step=step + 100, total=5000),
        ranks=ranks,
        tail=lines,
        fresh=step == 0,
    )


def gpu_reading(node: int, step: int, now: float) -> GpuReading:
    busy = Gpu(0, "ok", read_at=now, used_bytes=60 * 2**30, total_bytes=80 * 2**30, limit_w=700.0)
    return GpuReading(
        tuple(
            replace(
                busy, index=n, uuid=f"GPU-{node}-{n}", util_percent=90.0 + (step + n) % 10, power_w=500.0 + (7 * step + n) % 90
            )
            for n in range(PER_NODE)
        )
    )


def ray_reading(now: float, count: int) -> RayReading:
    actors = tuple(
        RayActor("WorkerDict", "running", id=f"{n:032x}", method="update_actor", since=now - 3, host=f"n{n // PER_NODE}", rank=n)
        for n in range(count)
    )
    return RayReading((RayCluster("127.0.0.1:6379", actors=actors),), named=True)
