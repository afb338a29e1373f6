"""What one paint of the processes pane costs, from the state to the rows, for 137 and 2,000 processes and on 128 nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType

from hangtop.records.process import Process, ProcessReading, ProcessRole
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.processes.process_lines import PLAIN, TreeOptions, lines, readings_of, summary
from hangtop.render.processes.process_rows import RowLook, table_rows
from hangtop.render.processes.process_tree import Folds
from hangtop.render.view import View
from hangtop.state.run_state import RunState
from hangtop.system.processes.tree import with_subtrees
from tests.bench.options import Options
from tests.bench.row import Row

NOW = 1_768_126_000.0
ROUNDS = 20
BUDGET_MS = 100
SIZES = {"137 processes": (1, 8, 16), "2,000 processes": (1, 117, 16), "128 nodes × 8 ranks": (128, 8, 4)}
"""Nodes, ranks of each, data loader workers of each rank."""


def rows(options: Options) -> Iterator[Row]:
    for title, (nodes, ranks, workers) in SIZES.items():
        state = RunState(processes=MappingProxyType({f"n{node:03d}": _reading(node, ranks, workers) for node in range(nodes)}))
        opened = lines(View(state, None, WatchSpec(), NOW), state.processes, PLAIN)[1].path
        shapes = {
            "its tree": PLAIN,
            "unfolded": TreeOptions(folds=Folds(frozenset({opened}))),
            "sorted by CPU": TreeOptions(order="cpu"),
            "filtered": TreeOptions(pattern="rank 7"),
        }
        for name, shape in shapes.items():
            yield Row(f"{title}: {name}", _best_ms(partial(_paint, state, shape)), "ms", BUDGET_MS)


def _paint(state: RunState, shape: TreeOptions) -> None:
    """As the pane does it: all lines, the rows in sight, the head; the ranks are joined anew."""
    view = View(state, None, WatchSpec(), NOW)
    nodes = lines(view, readings_of(view), shape)
    table_rows(nodes, RowLook(NOW, single=shape.single, hosts=len(state.processes)), 118, full=True, shown=slice(0, 40))
    summary(view, readings_of(view), 118)


def _best_ms(work: Callable[[], object]) -> float:
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return 1_000 * min(took)


def _reading(node: int, ranks: int, workers: int) -> ProcessReading:
    base = 10_000
    found = [_process(base, 1, "torchrun --nproc-per-node 8 train.py", "launcher", None)]
    for local in range(ranks):
        rank, pid = node * ranks + local, base + 1 + local * (workers + 1)
        found.append(_process(pid, base, "python train.py --config large.yaml", "rank", rank))
        found += [_process(pid + 1 + n, pid, "python train.py --config large.yaml", "data worker", rank) for n in range(workers)]
    return ProcessReading(processes=with_subtrees(found))


def _process(pid: int, ppid: int, command: str, role: ProcessRole, rank: int | None) -> Process:
    return Process(
        pid, NOW - 600, pid, ppid, "python", command, "S", role=role, rank=rank,
        cpu_percent=3.0, rss_bytes=2**30, read_b_s=0.0, write_b_s=0.0, threads=4,
    )  # fmt: skip
