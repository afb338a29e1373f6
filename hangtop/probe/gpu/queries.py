"""What a GPU is asked, and how often: the cheap values each second, the others in turn. A new metric is one entry here.

About 5 calls a GPU and second, so 8 GPUs stay under 50 a second. Each query gives fields of `hangtop.records.gpu.Gpu`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from hangtop.probe.gpu import codes
from hangtop.records.gpu import GpuProcess, MigInstance

Answer = dict[str, Any]
ALL_LINKS = 0xFFFFFFFF
KIB = 1024


class GpuQuery(Struct, frozen=True):
    """`fields`: what it fills in `Gpu`; they become unknown when it fails. `counters`: ever-growing, shown as rates a second."""

    name: str
    period_s: float
    fields: tuple[str, ...]
    read: Callable[[Any, Any], Answer]
    counters: bool = False


def _single(name: str, period_s: float, field: str, read: Callable[[Any, Any], Any]) -> GpuQuery:
    return GpuQuery(name, period_s, (field,), lambda nvml, gpu: {field: read(nvml, gpu)})


def _utilisation(nvml: Any, handle: Any) -> Answer:
    rates = nvml.nvmlDeviceGetUtilizationRates(handle)
    return {"util_percent": float(rates.gpu), "memory_util_percent": float(rates.memory)}


def _memory(nvml: Any, handle: Any) -> Answer:
    """`used` without what the driver itself reserves, as nvidia-smi shows it; drivers before 510 count that in."""
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    except nvml.NVMLError as error:
        if error.value not in codes.NEVER_HERE:
            raise
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    return {"used_bytes": memory.used, "total_bytes": memory.total}


def _temperature(nvml: Any, handle: Any) -> float:
    """The first call is to go with CUDA 14, the second is not in older drivers."""
    read = getattr(nvml, "nvmlDeviceGetTemperature", None) or nvml.nvmlDeviceGetTemperatureV
    return float(read(handle, nvml.NVML_TEMPERATURE_GPU))


def _processes(nvml: Any, handle: Any) -> Answer:
    found = [(p, getattr(p, "gpuInstanceId", None)) for p in nvml.nvmlDeviceGetComputeRunningProcesses(handle)]
    return {"processes": tuple(GpuProcess(p.pid, p.usedGpuMemory, instance=None if n == ALL_LINKS else n) for p, n in found)}


def _throttle(nvml: Any, handle: Any) -> Answer:
    try:
        mask = nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
    except nvml.NVMLError as error:
        if error.value != codes.FUNCTION_NOT_FOUND:
            raise
        mask = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    return {"throttle": codes.throttles(mask)}


def _pstate(nvml: Any, handle: Any) -> Any:
    state = nvml.nvmlDeviceGetPerformanceState(handle)
    return None if state == nvml.NVML_PSTATE_UNKNOWN else state


def _pcie(nvml: Any, handle: Any, counter: int) -> int:
    return int(nvml.nvmlDeviceGetPcieThroughput(handle, counter) * KIB)


def _ecc(nvml: Any, handle: Any, kind: int) -> int:
    return int(nvml.nvmlDeviceGetTotalEccErrors(handle, kind, nvml.NVML_VOLATILE_ECC))


def _nvlink(nvml: Any, handle: Any) -> Answer:
    """Data bytes over all links since the driver was loaded (field values 138 and 139, in KiB)."""
    sent, received = nvml.nvmlDeviceGetFieldValues(
        handle,
        [(nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, ALL_LINKS), (nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, ALL_LINKS)],
    )
    for value in (sent, received):
        if value.nvmlReturn:
            raise nvml.NVMLError(value.nvmlReturn)
    return {"nvlink_tx_bytes_s": sent.value.ullVal * KIB, "nvlink_rx_bytes_s": received.value.ullVal * KIB}


def _remap(nvml: Any, handle: Any) -> str | None:
    """Rows of memory that were, or could not be, replaced by spare ones."""
    _, _, pending, failed = nvml.nvmlDeviceGetRemappedRows(handle)
    return "a row remap failed: the GPU needs service" if failed else "a row remap waits for a GPU reset" if pending else None


def _mig(nvml: Any, handle: Any) -> tuple[MigInstance, ...] | None:
    """`None`: not in MIG mode."""
    current, _ = nvml.nvmlDeviceGetMigMode(handle)
    slots = range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)) if current else ()
    return tuple(found for slot in slots if (found := _mig_instance(nvml, handle, slot))) if current else None


def _mig_instance(nvml: Any, handle: Any, slot: int) -> MigInstance | None:
    try:
        part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, slot)
    except nvml.NVMLError_NotFound:  # an empty slot
        return None
    memory = nvml.nvmlDeviceGetMemoryInfo(part)
    return MigInstance(
        index=slot,
        name=nvml.nvmlDeviceGetName(part),
        uuid=nvml.nvmlDeviceGetUUID(part),
        instance=nvml.nvmlDeviceGetGpuInstanceId(part),
        used_bytes=memory.used,
        total_bytes=memory.total,
    )


MINOR = _single("minor number", 0, "minor", lambda nvml, gpu: nvml.nvmlDeviceGetMinorNumber(gpu))
"""Asked once: N of `/dev/nvidiaN`."""

QUICK = (
    GpuQuery("utilisation", 1, ("util_percent", "memory_util_percent"), _utilisation),
    GpuQuery("memory", 2, ("used_bytes",), _memory),
    _single("power", 1, "power_w", lambda nvml, gpu: nvml.nvmlDeviceGetPowerUsage(gpu) / 1000),
    _single("temperature", 2, "temperature_c", _temperature),
)
"""Asked in every round, slow values in every second one. Whether a GPU is well is judged by these."""

SLOW = (
    GpuQuery("processes", 2, ("processes",), _processes),
    _single("power limit", 30, "limit_w", lambda nvml, gpu: nvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1000),
    _single("SM clock", 5, "sm_clock_mhz", lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM)),
    GpuQuery("throttle reasons", 5, ("throttle",), _throttle),
    _single("PCIe receive", 10, "pcie_rx_bytes_s", lambda nvml, gpu: _pcie(nvml, gpu, nvml.NVML_PCIE_UTIL_RX_BYTES)),
    _single("PCIe send", 10, "pcie_tx_bytes_s", lambda nvml, gpu: _pcie(nvml, gpu, nvml.NVML_PCIE_UTIL_TX_BYTES)),
    GpuQuery("NVLink", 5, ("nvlink_rx_bytes_s", "nvlink_tx_bytes_s"), _nvlink, counters=True),
    _single("performance state", 30, "pstate", _pstate),
    _single("memory clock", 30, "memory_clock_mhz", lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM)),
    _single("ECC corrected", 30, "ecc_corrected", lambda nvml, gpu: _ecc(nvml, gpu, nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED)),
    _single("ECC uncorrected", 30, "ecc_uncorrected", lambda nvml, gpu: _ecc(nvml, gpu, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED)),
    _single("row remaps", 60, "remap", _remap),
    _single("MIG", 30, "mig", _mig),
    _single(
        "highest SM clock", 60, "sm_clock_max_mhz", lambda nvml, gpu: nvml.nvmlDeviceGetMaxClockInfo(gpu, nvml.NVML_CLOCK_SM)
    ),
)
"""At most `gpu_thread.SLOW_PER_ROUND` of these a round, the one that is overdue the longest first."""
