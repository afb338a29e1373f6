"""Reads what workers of Ray print: from files of this machine, or through the agents of their nodes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from functools import partial

import msgspec

from hangtop.common.clean_text import clean_text
from hangtop.common.grouped import grouped
from hangtop.probe.http.at_once import run_at_once
from hangtop.probe.log.tail import open_log
from hangtop.probe.ray.cluster import Cluster
from hangtop.probe.ray.dashboard.http import DEADLINE_S
from hangtop.probe.ray.dashboard.node_logs import PART_BYTES, STREAMS, LogPart, RemoteLog, place_of
from hangtop.records.ask import ActorLogAsk
from hangtop.records.ray.remote_workers import ActorLogReading, WorkerOutput
from hangtop.system.files.read_errors import in_words

MOST_LINES = 40
LONGEST_LINE = 1_000
FOR_RAY = (":job_id:", ":actor_name:", ":task_name:")
"""Starts of the lines that a worker prints for Ray's log monitor (python/ray/_private/worker.py)."""
TQDM = "__ray_tqdm_magic_token__"


def fetch(files: Iterable[RemoteLog], now: float) -> None:
    """Fetch from several nodes at once. A node that does not answer is waited for no longer than all others together."""
    nodes = grouped(files, lambda file: file.place.node)
    until = time.monotonic() + DEADLINE_S

    def fetch_all(logs: Iterable[RemoteLog]) -> None:
        for log in logs:
            if time.monotonic() < until:
                log.fetch(now)

    run_at_once([partial(fetch_all, logs) for logs in nodes.values()], 2 * DEADLINE_S)


class TqdmBar(msgspec.Struct, frozen=True):
    """A state of a bar (ray/experimental/tqdm_ray.py)."""

    x: float
    total: float | None = None
    desc: str = ""
    unit: str = "it"


def actor_log(ask: ActorLogAsk, cluster: Cluster | None, now: float) -> ActorLogReading:
    """The last lines of an actor's output, the latest written last: from its files on this machine, else from its node."""
    if ask.log is not None:
        stem = ask.log.rpartition(".")[0]
        parts = {path: _part_of_file(path, now) for path in (f"{stem}.{stream}" for stream in STREAMS)}
    elif cluster is None:
        return ActorLogReading(ask.ask, problem="its cluster is not known here: hangtop --ray HOST:8265")
    elif (place := place_of(ask.actor, cluster.view)) is None:
        return ActorLogReading(ask.ask, problem="nobody tells on which node it runs")
    else:
        parts = {place.path(stream): cluster.logs.read(place, stream) for stream in STREAMS}
    found = (WorkerOutput(path, last_lines(part), part.age_s, part.via, part.problem) for path, part in parts.items())
    told = [output for output in found if output.lines or output.problem]
    told.sort(key=lambda output: -(output.age_s or 0.0))
    return ActorLogReading(ask.ask, tuple(told), "" if told else "it has printed nothing yet")


def _part_of_file(path: str, now: float) -> LogPart:
    try:
        with open(open_log(path), "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            first = max(0, found.st_size - PART_BYTES)
            return LogPart(os.pread(file.fileno(), PART_BYTES, first), first, age_s=max(0.0, now - found.st_mtime))
    except OSError as error:
        return LogPart(problem=in_words(path, error).problem)


def last_lines(part: LogPart) -> tuple[str, ...]:
    """The last lines as a terminal would show them, of a progress bar only its last state; without a first line that is cut."""
    rows = part.data.decode("utf-8", "replace").rstrip("\n").split("\n")
    shown = map(_said, rows[1:] if part.first and len(rows) > 1 else rows)
    return tuple(line for line in shown if line and not line.startswith(FOR_RAY))[-MOST_LINES:]


def _said(row: str) -> str:
    """What a line says in the end; a bar of `tqdm_ray`, which is JSON for the driver, in words."""
    line = clean_text(row.rstrip("\r").rpartition("\r")[2][: 4 * LONGEST_LINE])[:LONGEST_LINE].rstrip()
    if TQDM not in line:
        return line
    try:
        bar = msgspec.json.decode(line, type=TqdmBar)
    except msgspec.DecodeError:
        return line
    total = "" if bar.total is None else f"/{bar.total:g}"
    return f"{bar.desc}: {bar.x:g}{total} {bar.unit}".removeprefix(": ")
