"""Prints what reading a Ray cluster costs: time of a refresh, requests and bytes a second, CPU, size of a reading.

    python tests/bench/bench_ray.py [--nodes 128] [--workers 8] [--pending 0] [--seconds 20]

The dashboard is a stand-in in a process of its own, on loopback; its nodes report every 5 s, all at once. Budget: 128 nodes × 8
workers ≤ 100 ms a refresh (issue 6, design §9). With `--pending 10000`: what a list of that length costs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from hangtop import wire
from hangtop.diagnosis.ray import odd_actors, troubles
from hangtop.panes.ray_rows import actor_rows, table_rows
from hangtop.records.ray import RayReading
from hangtop.records.reading import Reading
from hangtop.sources.ray import RaySource
from hangtop.spec import WatchSpec

BUDGET_MS = 100.0
REPORT_S = 5.0


def main() -> None:
    given = _arguments()
    counts = [str(number) for number in (given.nodes, given.workers, given.pending)]
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.ray_dashboard", *counts],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        _measure(server, given.seconds, f"{given.nodes} nodes × {given.workers} workers, {given.pending} pending")
    finally:
        server.stdin.close()
        server.wait(10)


def _measure(server: subprocess.Popen[str], seconds: float, title: str) -> None:
    ray = RaySource(WatchSpec(ray=f"127.0.0.1:{int(server.stdout.readline())}"))
    full, usual, cpu_s, last = [], [], time.process_time(), None
    began = ticked = time.monotonic()
    first = _timed(ray)[0]
    while time.monotonic() - began < seconds:
        moved = time.monotonic() - ticked >= REPORT_S
        if moved:
            ticked = time.monotonic()
            server.stdin.write("tick\n")
            server.stdin.flush()
            server.stdout.readline()
        took_ms, values = _timed(ray)
        (full if moved else usual).append(took_ms)
        last = next((value for value in values if isinstance(value, RayReading)), last)
        time.sleep(max(0.0, ray.interval_s - took_ms / 1000))
    spent_s, lasted_s = time.process_time() - cpu_s, time.monotonic() - began
    dashboard = next(iter(ray._clusters.values())).poll.dashboard
    print(f"{title}, {lasted_s:.0f} s")
    print(f"  first look                 {first:8.1f} ms")
    print(f"  look, all nodes reported   {_middle(full):8.1f} ms   budget {BUDGET_MS:.0f} ms")
    print(f"  look in between            {_middle(usual):8.1f} ms")
    kb_s = dashboard.received_bytes / lasted_s / 1e3
    print(f"  put on the cluster         {dashboard.requests / lasted_s:8.1f} requests/s, {kb_s:,.0f} kB/s")
    print(f"  CPU of the source          {100 * spent_s / lasted_s:8.1f} % of a core")
    _print_reading(last)
    ray.close()


def _print_reading(last: RayReading) -> None:
    size = len(wire.encode(Reading("ray", "head", 0.0, last)))
    cluster, now = last.clusters[0], time.time()
    began = time.perf_counter()
    rows = actor_rows(cluster, now, trouble=True)
    table_rows(rows, 80)
    painted_ms = 1e3 * (time.perf_counter() - began)
    began = time.perf_counter()
    odd_actors(cluster)
    troubles(cluster, now)
    print(f"  a reading                  {size / 1e3:8.0f} kB, at most one in {REPORT_S:g} s when only ages change")
    print(f"  rows of the pane           {painted_ms:8.1f} ms for {len(cluster.actors)} actors in {len(rows)} rows")
    print(f"  who stands out             {1e3 * (time.perf_counter() - began):8.1f} ms")


def _timed(ray: RaySource) -> tuple[float, list[object]]:
    began = time.perf_counter()
    values = list(ray.read(time.time()))
    return 1e3 * (time.perf_counter() - began), values


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] if values else float("nan")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=128)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--pending", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
