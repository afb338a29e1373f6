"""Steady numbers: the values of a GPU are repainted when one leaves its noise, or after five seconds. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hangtop.records.gpu import Gpu, NodeGpus

UTIL_NOISE_PERCENT = 3.0
TEMPERATURE_NOISE_C = 2.0
MEMORY_NOISE_BYTES = 0.1 * 2**30
POWER_NOISE_PART = 0.03
REPAINT_S = 5.0


class SteadyGpu(Struct, frozen=True):
    """A GPU with the values on the screen, painted at unix time `at`."""

    gpu: Gpu
    at: float


def settle(shown: Mapping[int, SteadyGpu], node: NodeGpus, now: float) -> dict[int, SteadyGpu]:
    """The values to paint for each GPU index, given those on the screen."""
    return {gpu.index: _settled(shown.get(gpu.index), gpu, now) for gpu in node.reading.gpus}


def _settled(shown: SteadyGpu | None, gpu: Gpu, now: float) -> SteadyGpu:
    if shown is None or now - shown.at >= REPAINT_S or _differs(shown.gpu, gpu):
        return SteadyGpu(gpu, now)
    return shown


def _differs(shown: Gpu, gpu: Gpu) -> bool:
    return (
        _apart(shown.util_percent, gpu.util_percent, UTIL_NOISE_PERCENT)
        or _apart(shown.power_w, gpu.power_w, POWER_NOISE_PART * (gpu.limit_w or 0.0))
        or _apart(shown.used_bytes, gpu.used_bytes, MEMORY_NOISE_BYTES)
        or _apart(shown.temperature_c, gpu.temperature_c, TEMPERATURE_NOISE_C)
        or shown.mig != gpu.mig
        or [process.pid for process in shown.processes] != [process.pid for process in gpu.processes]
    )


def _apart(shown: float | None, value: float | None, noise: float) -> bool:
    return abs(shown - value) > noise if shown is not None and value is not None else shown is not value
