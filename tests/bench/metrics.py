"""What it costs to be asked for the figures of 1,024 ranks: CPU time of a scrape, as Prometheus does it each 15 s."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator
from socket import socket
from statistics import median

from hangtop.diagnosis.judge import judge
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.guard.metrics import serve
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from tests.bench.options import Options
from tests.bench.row import Row
from tests.bench.scale import NODES, RANKS, START, gpu_reading, log_reading

SCRAPES, SCRAPE_S = 9, 15.0
CORE_PERCENT = 1.0


def rows(options: Options) -> Iterator[Row]:
    state = fold(RunState(), Reading("log", "n0", START, log_reading(0, START)))
    for node in range(NODES):
        state = fold(state, Reading("gpu", f"n{node}", START, gpu_reading(node, 0, START)))
    snapshot = take_snapshot(state, WatchSpec(logs=("/runs/train.log",)), START)
    with socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    serve(f"127.0.0.1:{port}").look(snapshot, judge(snapshot))
    taken, size = [], 0
    for _ in range(SCRAPES):
        began = time.process_time()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            size = len(answer.read())
        taken.append(time.process_time() - began)
    what = f"metrics of {RANKS:,} ranks and GPUs"
    yield Row(f"{what}: of a core, scraped each {SCRAPE_S:.0f} s", 100 * median(taken) / SCRAPE_S, "%", CORE_PERCENT)
    yield Row(f"{what}: a scrape", size / 1024, "KiB")
