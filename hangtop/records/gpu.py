"""The GPUs of one node. A GPU keeps its index for good, also when the driver loses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from hangtop.records.samples import Samples

GpuStatus = Literal[
    "ok", "late", "no answer", "lost", "unknown error", "reset needed", "not supported", "no permission", "reading"
]
"""`late`, `no answer`: no answer for 3 s, for 10 s. `reading`: the first call runs. The other words are the driver's."""


class GpuProcess(Struct, frozen=True, omit_defaults=True):
    """A process with memory on a GPU. `pid`: as the driver names it, in the namespace of the host. `used_bytes`: `None` if the
    driver does not tell.

    `visible`: false if there is no such pid here (another pid namespace). `instance`: its MIG GPU instance.
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
    """One GPU. Its values stay when it does not answer any more: `read_at` is when all of them were last read.

    `since`: when `status` began. `call_s`: its slowest recent call. `minor`: N of `/dev/nvidiaN`. `why`: one line about the
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
    """All GPUs of one node. `stuck_since`: the driver has not answered at all since then. `stuck_in`: the call that hangs.

    `pids_hidden`: the driver's pids are not visible in this pid namespace. `notes`: one line each, sent once.
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
    """One node in the state: its last reading, with lasting indices, and a track by index."""

    reading: GpuReading
    at: float
    tracks: Mapping[int, GpuTrack] = {}
