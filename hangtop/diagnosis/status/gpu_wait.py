"""Does a rank whose GPU spins wait for it? Its processor tells nothing: the driver polls for the end of a kernel all the time.

A kernel of a collective spins until all peers have launched theirs (NCCL#968, nccl#1550): who waits for it waits for peers.
torch gives the GIL away before it waits (`.item()`, `synchronize`, `backward`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from hangtop.diagnosis.facts.gpu_outliers import all_lately, busy_waits, is_current
from hangtop.diagnosis.members.rank_gpus import gpu_host, of_run
from hangtop.records.process import Process
from hangtop.records.rank import Rank
from hangtop.stacks.activity import Activity, activities
from hangtop.stacks.loops import IO_BYTES_S, WORTH_A_CORE, Looks, recently
from hangtop.state.run_state import RunState

IN_A_COLLECTIVE = "a collective on the GPU"


def waits_for_gpu(process: Process, known: Activity | None, stacks: Looks) -> bool:
    """For a process whose GPU busy-waits: nothing speaks for work of its own.

    No byte moved, no child computes, and it stood at one line in all looks without the GIL. Where there are no stacks the GPU
    alone tells.
    """
    children = (process.subtree_cpu_percent or 0.0) - (process.cpu_percent or 0.0)
    if children > WORTH_A_CORE or (recently(process).io_b_s or 0.0) > IO_BYTES_S:
        return False
    if known is None:
        return True
    threads = [seen.thread for seen in activities(stack for _, stack in stacks)]
    lines = {tuple((frame.function, frame.file, frame.line) for frame in thread.frames) for thread in threads}
    return len(threads) > 1 and len(lines) == 1 and not any(thread.owns_gil for thread in threads)


def spinning(state: RunState, now: float) -> Callable[[Rank], bool]:
    """Whether the GPU of a rank busy-waits; one whose GPU is not known does if all of its host do."""

    @cache
    def of_host(host: str) -> dict[int, bool]:
        node, mine = state.gpus[host], of_run(state, host)
        both = zip(node.reading.gpus, all_lately(node, now), strict=True)
        judged = ((gpu, mean) for gpu, mean in both if (mine is None or gpu.index in mine) and is_current(gpu, now))
        return {gpu.index: busy_waits(gpu) and busy_waits(mean) for gpu, mean in judged}

    def spins(rank: Rank) -> bool:
        if (host := gpu_host(rank, state)) is None:
            return False
        known = of_host(host)
        return known.get(rank.gpu, False) if rank.gpu is not None else bool(known) and all(known.values())

    return spins
