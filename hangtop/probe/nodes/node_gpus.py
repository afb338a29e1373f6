"""The GPUs of another node, as nvidia-smi told them there (`hangtop.probe.nodes.node_side.gpus`). Pure."""

from __future__ import annotations

from math import isfinite

import msgspec

from hangtop.common.clean_text import clean_text
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading, GpuStatus
from hangtop.records.nodes import on_node

MEBIBYTE = 1 << 20
INDEX, UUID, NAME, BUS, UTIL, MEMORY_UTIL, USED, TOTAL, POWER, LIMIT, HEAT, CLOCK, CLOCK_MAX, PSTATE, DRIVER = range(15)
"""Columns, in the order of its question."""
LOST: dict[str, GpuStatus] = {"gpu is lost": "lost", "unknown error": "unknown error", "gpu requires reset": "reset needed"}


class NodeGpusTold(msgspec.Struct, frozen=True):
    """`at`: unix time there. `rows`: words of each GPU; `held`: uuid, pid, MiB and whether there is such a pid there. `minors`:
    by bus id. `late`: it has not answered since then."""

    at: float
    rows: tuple[tuple[str, ...], ...] = ()
    held: tuple[tuple[str, str, str, bool], ...] = ()
    minors: dict[str, int | None] = {}
    late: bool = False


def gpu_reading(told: NodeGpusTold, node: int, offset_s: float, before: GpuReading | None) -> GpuReading:
    """`offset_s`: by how much its clock is ahead of ours. One that is late keeps what it said before."""
    at = told.at - offset_s
    if told.late:
        return msgspec.structs.replace(before or GpuReading(), stuck_since=at, stuck_in="nvidia-smi")
    rows = [row for row in told.rows if len(row) > DRIVER and row[INDEX].isdecimal()]
    hidden = bool(told.held) and not any(seen for *_, seen in told.held)
    gpus = tuple(_gpu(row, told, node, at) for row in rows)
    return GpuReading(gpus, driver=clean_text(rows[0][DRIVER]) if rows else None, pids_hidden=hidden)


def _gpu(row: tuple[str, ...], told: NodeGpusTold, node: int, at: float) -> Gpu:
    words = " ".join(row).lower()
    status: GpuStatus = next((status for said, status in LOST.items() if said in words), "ok")
    held = [(pid, _number(used), seen) for uuid, pid, used, seen in told.held if uuid == row[UUID] and pid.isdecimal()]
    processes = (GpuProcess(on_node(node, int(pid)), _bytes(used), visible=seen) for pid, used, seen in held)
    clock, most, pstate = _number(row[CLOCK]), _number(row[CLOCK_MAX]), _number(row[PSTATE].removeprefix("P"))
    return Gpu(
        int(row[INDEX]),
        status,
        read_at=at,
        uuid=clean_text(row[UUID]),
        name=clean_text(row[NAME]),
        minor=told.minors.get(row[BUS]),
        util_percent=_number(row[UTIL]),
        memory_util_percent=_number(row[MEMORY_UTIL]),
        used_bytes=_bytes(_number(row[USED])),
        total_bytes=_bytes(_number(row[TOTAL])),
        power_w=_number(row[POWER]),
        limit_w=_number(row[LIMIT]),
        temperature_c=_number(row[HEAT]),
        sm_clock_mhz=None if clock is None else int(clock),
        sm_clock_max_mhz=None if most is None else int(most),
        pstate=None if pstate is None else int(pstate),
        processes=tuple(processes),
    )


def _number(word: str) -> float | None:
    """`None` for `[N/A]` and the like, and for what is no finite number."""
    try:
        number = float(word)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _bytes(mebibytes: float | None) -> int | None:
    return None if mebibytes is None else int(mebibytes * MEBIBYTE)
