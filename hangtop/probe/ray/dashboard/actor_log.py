"""The last lines of one actor's output: from its files on this machine, else from its node."""

from __future__ import annotations

import os

import msgspec

from hangtop.common.clean_text import clean_text
from hangtop.probe.log.tail import open_log
from hangtop.probe.ray.cluster import Cluster
from hangtop.probe.ray.dashboard.node_logs import PART_BYTES, LogPart
from hangtop.probe.ray.dashboard.worker_place import STREAMS, place_of
from hangtop.records.ask import ActorLogAsk
from hangtop.records.ray.remote_workers import WorkerOutput
from hangtop.system.files.read_errors import in_words

MOST_LINES = 40
LONGEST_LINE = 1_000
FOR_RAY = (":job_id:", ":actor_name:", ":task_name:")
"""Starts of the lines that a worker prints for Ray's log monitor (python/ray/_private/worker.py)."""
TQDM = "__ray_tqdm_magic_token__"
NOWHERE = "nobody tells on which node it runs"


class TqdmBar(msgspec.Struct, frozen=True):
    """A state of a bar (ray/experimental/tqdm_ray.py)."""

    x: float
    total: float | None = None
    desc: str = ""
    unit: str = "it"


def actor_log(ask: ActorLogAsk, cluster: Cluster | None, now: float) -> tuple[tuple[WorkerOutput, ...], str]:
    """Its outputs, the latest written last; and why there are none."""
    if ask.log is not None:
        stem = ask.log.rpartition(".")[0]
        found = [_of_file(f"{stem}.{stream}", now) for stream in STREAMS]
    elif cluster is None:
        return (), "its cluster is not known here: hangtop --ray HOST:8265"
    elif (place := place_of(ask.actor, cluster.view)) is None:
        return (), NOWHERE
    else:
        found = [_of_part(place.path(stream), cluster.logs.read(place, place.file(stream))) for stream in STREAMS]
    told = [output for output in found if output.lines or output.problem]
    return tuple(sorted(told, key=lambda output: -(output.age_s or 0.0))), "" if told else "it has printed nothing yet"


def _of_file(path: str, now: float) -> WorkerOutput:
    try:
        with open(open_log(path), "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            data = os.pread(file.fileno(), PART_BYTES, max(0, found.st_size - PART_BYTES))
    except OSError as error:
        return WorkerOutput(path, problem=in_words(path, error).problem)
    return WorkerOutput(path, last_lines(data, whole=found.st_size <= PART_BYTES), max(0.0, now - found.st_mtime))


def _of_part(path: str, part: LogPart) -> WorkerOutput:
    return WorkerOutput(path, last_lines(part.data, whole=not part.first), part.age_s, part.via, part.problem)


def last_lines(data: bytes, *, whole: bool) -> tuple[str, ...]:
    """The last lines as a terminal would show them: of a progress bar only its last state. `whole`: the first line is not cut."""
    rows = data.decode("utf-8", "replace").rstrip("\n").split("\n")
    if not whole and len(rows) > 1:
        rows = rows[1:]
    shown = (_said(clean_text(row.rstrip("\r").rpartition("\r")[2])[:LONGEST_LINE].rstrip()) for row in rows)
    return tuple(line for line in shown if line and not line.startswith(FOR_RAY))[-MOST_LINES:]


def _said(line: str) -> str:
    """The line; a bar of `tqdm_ray`, which is JSON for the driver, in words."""
    if TQDM not in line:
        return line
    try:
        bar = msgspec.json.decode(line, type=TqdmBar)
    except msgspec.DecodeError:
        return line
    total = "" if bar.total is None else f"/{bar.total:g}"
    return f"{bar.desc}: {bar.x:g}{total} {bar.unit}".removeprefix(": ")
