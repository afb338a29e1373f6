"""What is known of the GPUs of one node. A GPU keeps its index for life, also when the driver loses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from hangtop.records.samples import Samples

GpuStatus = Literal[
    "ok", "late", "no answer", "lost", "unknown error", "reset needed", "not supported", "no permission", "reading"
]
"""`late`, `no answer`: by age (3 s, 10 s). `reading`: asked for the first time. The rest is the driver's word."""


class GpuProcess(Struct, frozen=True, omit_defaults=True):
    """A process with memory on a GPU. `pid` as the driver says it: of the host. `used_bytes` is `None` when it will not say.

    `visible` is false when no such pid is to be seen from here (another pid namespace). `instance`: its MIG GPU instance.
    """

    pid: int
    used_bytes: int | None = None
    visible: bool = True
    instance: int | None = None


class MigInstance(Struct, frozen=True, omit_defaults=True):
    """A slice of a GPU in MIG mode. The driver gives no utilisation for it."""

    index: int
    name: str | None = None
    uuid: str | None = None
    instance: int | None = None
    used_bytes: int | None = None
    total_bytes: int | None = None


class Gpu(Struct, frozen=True, omit_defaults=True):
    """One GPU. Values are the last good ones and stay when it answers no more: `read_at` is when all of them were last good.

    `since`: when `status` began. `call_s`: its slowest call of late. `minor`: N of `/dev/nvidiaN`. `why`: one line beside the
    status. `denied`: values that may not be read. NVLink rates are sums over all links.
    """

    index: int
    status: GpuStatus = "reading"
    since: float | None = None
    why: str | None = None
    read_at: float | None = None
    call_s: float | None = None
    uuid: str | None = None
    name: str | None = None
    minor: int | None = None
    util_percent: float | None = None
    memory_util_percent: float | None = None
    used_bytes: int | None = None
    total_bytes: int | None = None
    power_w: float | None = None
    limit_w: float | None = None
    temperature_c: float | None = None
    sm_clock_mhz: int | None = None
    sm_clock_max_mhz: int | None = None
    memory_clock_mhz: int | None = None
    pstate: int | None = None
    throttle: tuple[str, ...] = ()
    pcie_rx_bytes_s: float | None = None
    pcie_tx_bytes_s: float | None = None
    nvlink_rx_bytes_s: float | None = None
    nvlink_tx_bytes_s: float | None = None
    ecc_corrected: int | None = None
    ecc_uncorrected: int | None = None
    remap: str | None = None
    xid: int | None = None
    xid_at: float | None = None
    processes: tuple[GpuProcess, ...] = ()
    mig: tuple[MigInstance, ...] | None = None
    denied: tuple[str, ...] = ()


class GpuReading(Struct, frozen=True, omit_defaults=True, tag="gpu"):
    """All GPUs of one node. `stuck_since`: the whole driver has given no answer since then. `stuck_in`: the call asked.

    `pids_hidden`: the driver's pids cannot be seen from this pid namespace. `notes`: one line each, said once.
    """

    gpus: tuple[Gpu, ...] = ()
    vendor: str = "NVIDIA"
    driver: str | None = None
    stuck_since: float | None = None
    stuck_in: str | None = None
    pids_hidden: bool = False
    notes: tuple[str, ...] = ()


class GpuTrack(Struct, frozen=True, omit_defaults=True):
    """One GPU over time. `util_percent` and `power_w`: the last 10 minutes; `used_bytes`: the whole watch, ever coarser."""

    util_percent: Samples = Samples(slot_s=10.0)
    power_w: Samples = Samples(slot_s=10.0)
    used_bytes: Samples = Samples(slot_s=10.0)


class NodeGpus(Struct, frozen=True, omit_defaults=True):
    """What the state keeps of one node: its last reading, with indices kept for life, and a track per index."""

    reading: GpuReading
    at: float
    tracks: Mapping[int, GpuTrack] = {}
