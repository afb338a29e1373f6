"""Other nodes over their lines: CPU time of the watching side, the time to the first full table, bytes of a node. The nodes are
processes of this machine that play what a node tells (`tests.fakes.played_node`); what ssh costs is not in it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import psutil

from hangtop.common import clock
from hangtop.diagnosis.judge import diagnose
from hangtop.records import wire
from hangtop.records.nodes import is_node
from hangtop.records.process import ProcessReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from tests.bench.logs import scratch
from tests.bench.options import Options
from tests.bench.row import MIB, Row, slopes

PLAYED = Path(__file__).parents[1] / "fakes/played_node.py"
RANKS = 8
SIZES: dict[int, tuple[float | None, float | None]] = {32: (None, None), 64: (None, None), 128: (30.0, 5.0), 512: (None, None)}
"""Nodes, and their budgets: percent of a core, and seconds from the last answer of a node to the first full table."""
OPEN_S, SETTLED_S, JUDGE_EVERY_S = 300.0, 10.0, 1.0


@dataclass
class Watching:
    """What a screen does with the lines of a probe, without its picture: fold, and judge once a second."""

    state: RunState = field(default_factory=RunState)
    ranks: dict[str, int] = field(default_factory=dict)
    full_at: float = 0.0
    cpu_s: float = 0.0
    read_bytes: int = 0

    def follow(self, probe: subprocess.Popen[bytes], spec: WatchSpec, wanted: int) -> None:
        assert probe.stdout is not None
        judged = 0.0
        for line in probe.stdout:
            began = time.thread_time()
            self.read_bytes += len(line)
            reading = wire.decode_reading(line)
            self.state = fold(self.state, reading)
            if is_node(reading.source) and isinstance(reading.value, ProcessReading):
                self.ranks[reading.host] = sum(process.rank is not None for process in reading.value.processes)
                if not self.full_at and sum(self.ranks.values()) >= wanted:
                    self.full_at = clock.now()
            if time.monotonic() - judged > JUDGE_EVERY_S:
                judged = time.monotonic()
                diagnose(self.state, spec, clock.now())
            self.cpu_s += time.thread_time() - began


def rows(options: Options) -> Iterator[Row]:
    costs: dict[int, float] = {}
    for nodes, (percent, full_s) in SIZES.items():
        with scratch() as folder:
            measured = list(_measured(folder, nodes, percent, full_s, options.seconds))
        costs[nodes] = measured[0].measured
        yield from measured
    yield from slopes(costs, "a node")


def _measured(folder: Path, nodes: int, percent: float | None, full_s: float | None, seconds: float) -> Iterator[Row]:
    log, told_at, what = folder / "train.log", folder / "told", f"{nodes} nodes x {RANKS} ranks"
    log.write_text("step 1/100 loss 1.0\n")
    launcher = f"{sys.executable} -I -S {PLAYED} {{host}} {RANKS} {{probe}}"
    hosts = tuple(f"n{node}" for node in range(nodes))
    spec = WatchSpec(logs=(str(log),), sources=("log", "procs"), ray="off", hosts=hosts, launcher=launcher)
    told_at.mkdir()
    environ = {**os.environ, "PLAYED_NODES": str(told_at)}
    command, pipe = (sys.executable, "-m", "hangtop.probe"), subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environ) as probe:
        assert probe.stdin is not None
        probe.stdin.write(wire.encode(spec))
        probe.stdin.flush()
        watching, until = Watching(), time.monotonic() + OPEN_S
        Thread(target=watching.follow, args=(probe, spec, nodes * RANKS), daemon=True).start()
        while not watching.full_at and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(SETTLED_S)
        first_s = watching.full_at - max(file.stat().st_mtime for file in told_at.iterdir())
        before, began, size = _cpu_s(probe.pid) + watching.cpu_s, time.monotonic(), watching.read_bytes
        time.sleep(seconds)
        took_s = time.monotonic() - began
        used, written = _cpu_s(probe.pid) + watching.cpu_s - before, watching.read_bytes - size
        memory = psutil.Process(probe.pid).memory_info().rss
        sent = max(int(file.read_text().split()[-1]) for file in told_at.iterdir())
        probe.stdin.close()
    yield Row(f"{what}: CPU of probe, fold and verdict", 100 * used / took_s, "%", percent)
    yield Row(f"{what}: last node's answer to the full table", first_s, "s", full_s)
    yield Row(f"{what}: ranks known", sum(watching.ranks.values()), "", float(nodes * RANKS), at_least=True)
    yield Row(f"{what}: a node whose ranks all move tells", sent, "B/s")
    yield Row(f"{what}: from the probe to the screen", written / took_s / nodes, "B/s a node")
    yield Row(f"{what}: memory of the probe", memory / MIB, "MiB")


def _cpu_s(pid: int) -> float:
    """Of this process alone: the lines to the nodes are its children."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
