"""What reading a Ray cluster costs: time of a look, requests and bytes a second, CPU, size of a reading.

The dashboard is a stand-in in a process of its own, on loopback; its nodes report every 5 s, all at once.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

from hangtop.diagnosis.facts.ray_health import outlier_actors, troubles
from hangtop.probe.context import ProbeContext
from hangtop.probe.http.answer import Answer
from hangtop.probe.http.connection import Connection
from hangtop.probe.ray.ray_source import RaySource
from hangtop.probe.ray.workers_source import RayWorkerSource
from hangtop.records import wire
from hangtop.records.log import LogReading
from hangtop.records.ray.cluster import RayReading
from hangtop.records.reading import Reading, Value
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.ray.ray_rows import actor_rows, table_rows
from tests.bench.options import Options
from tests.bench.row import Row

NODES, WORKERS = 128, 8
REPORT_S = 5.0


def rows(options: Options) -> Iterator[Row]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.ray_dashboard", str(NODES), str(WORKERS), "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as server:  # its end is that of its input, which is closed here
        assert server.stdin is not None
        assert server.stdout is not None
        with _counted() as answers:
            yield from _measured(server.stdin, server.stdout, options.seconds, answers)


@contextmanager
def _counted() -> Iterator[list[tuple[str, int]]]:
    """Path and size of every answer that comes meanwhile."""
    answers: list[tuple[str, int]] = []
    ask = Connection.ask

    def counting(self: Connection, path: str, *rest: Any) -> Answer:
        answer = ask(self, path, *rest)
        if answer.status:
            answers.append((path, len(answer.body)))
        return answer

    with patch.object(Connection, "ask", counting):
        yield answers


def _measured(tick: IO[str], told: IO[str], seconds: float, answers: Sequence[tuple[str, int]]) -> Iterator[Row]:
    context = ProbeContext(WatchSpec(ray=f"127.0.0.1:{int(told.readline())}"))
    context.log = LogReading((), profiles=("verl", "ray"))  # so that its ranks are taken for those of the run
    ray, workers = RaySource(context), RayWorkerSource(context)
    full: list[float] = []
    full_cpu: list[float] = []
    usual: list[float] = []
    last = RayReading()
    cpu_s = time.process_time()
    began = ticked = time.monotonic()
    _timed(ray)
    while time.monotonic() - began < seconds:
        moved = time.monotonic() - ticked >= REPORT_S
        if moved:
            ticked = time.monotonic()
            tick.write("tick\n")
            tick.flush()
            told.readline()
        took_ms, took_cpu_ms, values = _timed(ray)
        (full if moved else usual).append(took_ms)
        full_cpu += [took_cpu_ms] if moved else []
        list(workers.read(time.time()))
        last = next((value for value in values if isinstance(value, RayReading)), last)
        time.sleep(max(0.0, ray.interval_s - took_ms / 1000))
    spent_s, lasted_s = time.process_time() - cpu_s, time.monotonic() - began
    cluster = next(iter(ray._clusters.values()))
    far = [log for files in cluster._far_logs.values() for log in files]
    of_logs = [size for path, size in answers if "/logs/" in path]
    of_dashboard = [size for path, size in answers if "/logs/" not in path]
    what = f"Ray of {NODES} nodes × {WORKERS} workers"
    yield Row(f"{what}: CPU of a look, all nodes have reported", _middle(full_cpu), "ms", 100)
    yield Row(f"{what}: the same, from question to answer", _middle(full), "ms")
    yield Row(f"{what}: a look in between", _middle(usual), "ms")
    yield Row(f"{what}: put on the cluster", len(of_dashboard) / lasted_s, "asks/s")
    yield Row(f"{what}: put on the cluster", sum(of_dashboard) / lasted_s / 1e3, "kB/s")
    yield Row(f"{what}: put on its agents, for the steps of ranks", len(of_logs) / lasted_s, "asks/s", 8)
    yield Row(f"{what}: put on its agents, for the steps of ranks", sum(of_logs) / lasted_s / 1e3, "kB/s", 128)
    yield Row(f"{what}: output files read in {lasted_s:.0f} s", sum(log.first_bytes is not None for log in far), f"of {len(far)}")
    yield Row(f"{what}: CPU of both sources", 100 * spent_s / lasted_s, "%")
    yield Row(f"{what}: a reading", len(wire.encode(Reading("ray", "head", 0.0, last))) / 1e3, "kB")
    yield Row(f"{what}: the rows of the pane", _rows_ms(last), "ms", 50)
    ray.close()


def _rows_ms(last: RayReading) -> float:
    cluster, now = last.clusters[0], time.time()
    began = time.perf_counter()
    table_rows(actor_rows(cluster, now, trouble=True), 80)
    outlier_actors(cluster)
    troubles(cluster, now)
    return 1e3 * (time.perf_counter() - began)


def _timed(ray: RaySource) -> tuple[float, float, list[Value]]:
    """Milliseconds by the clock, of CPU in all threads, and what was said."""
    began, cpu_s = time.perf_counter(), time.process_time()
    values = list(ray.read(time.time()))
    return 1e3 * (time.perf_counter() - began), 1e3 * (time.process_time() - cpu_s), values


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] if values else float("nan")
