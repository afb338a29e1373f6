"""How well a run that goes on uses its GPUs, over minutes: little use of all, clocks that are held back. Pure. GPUs that stand
out, at this moment or for minutes, are in `gpu_outliers`."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hangtop.common.median import median
from hangtop.common.text import count, numbered
from hangtop.diagnosis.facts import gpu_outliers
from hangtop.diagnosis.members.rank_gpus import of_run
from hangtop.records.gpu import Gpu, NodeGpus
from hangtop.records.verdict import Evidence
from hangtop.state.run_state import RunState

WELL_USED_PERCENT = 80.0
"""Below this a GPU is badly used (troubleshooting guide of LightRFT, "GPU utilisation is low")."""
SLOW_CLOCK_PART = 0.75
"""A clock this far below that of peers that work as hard is no jitter of boost clocks, which are steps of 15 MHz."""


def gpu_load(state: RunState, now: float) -> tuple[Evidence, ...]:
    """Gravest first. Only GPUs that are known for the run's: a spare one, or one of other people, is not idle."""
    found = [
        (place, page, f"{host}: {line}" if len(state.gpus) > 1 else line)
        for host, node in state.gpus.items()
        if (mine := of_run(state, host))
        for place, (page, line) in enumerate(_lines(node, now, mine))
        if line
    ]
    return tuple(Evidence("gpu", line, page=page) for _, page, line in sorted(found, key=lambda each: each[0]))


def _lines(node: NodeGpus, now: float, mine: Collection[int]) -> tuple[tuple[str, str], ...]:
    """Each with its page."""
    gpus = gpu_outliers.judged_of(node, now, mine)
    used = {gpu.index: mean for gpu in gpus if (mean := gpu_outliers.mean_over(node, gpu, now)) is not None}
    return (("slow_rank", "; ".join(_held_back(gpus))), ("low_gpu_use", _low(used)))


def _low(used: dict[int, float]) -> str:
    """Where none is well used: of pools that take turns one is."""
    mean = median(used.values()) if used else 0.0
    if mean <= gpu_outliers.IDLE_UTIL_PERCENT or max(used.values()) >= WELL_USED_PERCENT:
        return ""
    at, minutes = gpu_outliers.rounded(mean), gpu_outliers.LONG_S / 60
    return f"{numbered('GPU', used)} at about {at} % over {minutes:.0f} minutes: under {WELL_USED_PERCENT:.0f} %"


def _held_back(gpus: list[Gpu]) -> Iterator[str]:
    """Of GPUs that are as busy as their peers."""
    busy = [gpu for gpu in gpus if gpu.sm_clock_mhz and (gpu.util_percent or 0.0) >= gpu_outliers.BUSY_UTIL_PERCENT]
    usual = median(gpu.sm_clock_mhz or 0 for gpu in busy) if len(busy) > 2 else 0.0
    for gpu in busy:
        why = [reason for reason in gpu.throttle if reason != "idle"]
        if why and (gpu.sm_clock_mhz or 0) < SLOW_CLOCK_PART * usual:
            yield f"GPU {gpu.index} at {count(gpu.sm_clock_mhz)} MHz, the others at {usual:,.0f}: {', '.join(why)}"
