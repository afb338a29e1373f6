"""What is told of the thing under the mouse, in one line: what its cell has no room for. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hangtop.common import text
from hangtop.common.text import GIB
from hangtop.records.nodes import pid_there
from hangtop.render.gpu_rows import GpuRow
from hangtop.render.rank_rows import RankRow
from hangtop.translations import say


def joined(parts: Iterable[str]) -> str:
    """Those that are there, with points between."""
    return " · ".join(part for part in parts if part)


def rank_told(row: RankRow) -> str:
    """`rank 137 · n18 · GPU 1 · step 118/400 · lag 2 · quiet 2:13 · …`."""
    rank = row.rank
    of = "" if rank.total is None else f"/{rank.total:,}"
    return joined(
        (
            say(f"rank {rank.rank}"),
            rank.host or "",
            "" if rank.gpu is None else f"GPU {rank.gpu}",
            "" if rank.pid is None else f"pid {pid_there(rank.pid)}",
            row.stage or "",
            "" if rank.step is None else say(f"step {rank.step:,}") + of,
            say(f"lag {rank.lag}") if rank.lag else "",
            "" if row.quiet_s is None else say(f"quiet {text.age(row.quiet_s)}"),
            row.doing or "",
        )
    )


def gpu_told(row: GpuRow) -> str:
    """`GPU 3 · NVIDIA H100 · rank 3 · util 100 % · 61.2/80.0 GiB · 120/700 W · 41 °C · …`."""
    gpu = row.gpu
    memory = () if gpu.used_bytes is None or gpu.total_bytes is None else (gpu.used_bytes / GIB, gpu.total_bytes / GIB)
    return joined(
        (
            f"GPU {gpu.index}",
            gpu.name or "",
            *(say(f"rank {rank}") for rank in row.ranks),
            row.reason or "",
            "" if gpu.util_percent is None else f"util {gpu.util_percent:.0f} %",
            f"{memory[0]:.1f}/{memory[1]:.1f} GiB" if memory else "",
            "" if gpu.power_w is None or gpu.limit_w is None else f"{gpu.power_w:.0f}/{gpu.limit_w:.0f} W",
            "" if gpu.temperature_c is None else f"{gpu.temperature_c:.0f} °C",
            "" if gpu.sm_clock_mhz is None else f"{gpu.sm_clock_mhz:.0f} MHz",
            *map(say, gpu.throttle),
            "" if row.age_s is None else say(f"values of {text.age(row.age_s)} ago"),
        )
    )
