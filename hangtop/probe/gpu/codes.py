"""NVML's numbers in words. Numbers: NVIDIA's nvml.h (`nvmlReturn_t`, `nvmlClocksEventReasons`)."""

from __future__ import annotations

from hangtop.records.gpu import GpuStatus

NOT_SUPPORTED = 3
NO_PERMISSION = 4
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
OPERATING_SYSTEM = 17
VERSION_MISMATCH = 18
ARGUMENT_VERSION_MISMATCH = 25
DEPRECATED = 26
GPU_NOT_FOUND = 28
UNKNOWN = 999

NEVER_HERE = frozenset({NOT_SUPPORTED, FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH, DEPRECATED})
"""This GPU or driver does not know the question."""

WHOLE_GPU = frozenset({GPU_IS_LOST, RESET_REQUIRED, GPU_NOT_FOUND})
"""Whatever was asked, this is said of the GPU itself."""

STATUSES: dict[int, tuple[GpuStatus, str]] = {
    NOT_SUPPORTED: ("not supported", "this GPU gives no values"),
    FUNCTION_NOT_FOUND: ("not supported", "this driver is too old to give values"),
    NO_PERMISSION: ("no permission", "the driver refuses: look for root-only limits (sudo nvidia-smi -q)"),
    OPERATING_SYSTEM: ("no permission", "the operating system blocks the driver (cgroup or container limits)"),
    TIMEOUT: ("no answer", "the driver itself timed out"),
    GPU_IS_LOST: ("lost", "fell off the bus"),
    GPU_NOT_FOUND: ("lost", "the driver no longer finds it"),
    RESET_REQUIRED: ("reset needed", "sudo nvidia-smi --gpu-reset, once nothing has it open, monitors such as hangtop included"),
}

THROTTLES: dict[int, str] = {
    0x1: "idle",
    0x2: "clocks set by hand",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "hot (driver)",
    0x40: "hot (hardware)",
    0x80: "power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability limit",
}


def status_of(code: int) -> tuple[GpuStatus, str]:
    """The status and its reason for an error that all questions got."""
    return STATUSES.get(code, ("unknown error", "the driver gives no reason" if code == UNKNOWN else f"NVML error {code}"))


def throttles(mask: int) -> tuple[str, ...]:
    """What holds the clocks back, in words; unknown bits by their number."""
    bits = (1 << shift for shift in range(mask.bit_length()) if mask >> shift & 1)
    return tuple(THROTTLES.get(bit, f"reason {bit:#x}") for bit in bits)
