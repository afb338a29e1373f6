"""Does a rank whose GPU spins wait for it? Its processor tells nothing: the driver polls for the end of a kernel all the time.

A kernel of a collective spins until all peers have launched theirs (NCCL#968, nccl#1550): who waits for one waits for its peers.
torch gives the GIL away before it waits (`.item()`, `synchronize`, `backward`).
"""

from __future__ import annotations

from hangtop.diagnosis.doing import Doing, doing
from hangtop.diagnosis.loops import IO_BYTES_S, WORTH_A_CORE, Looks
from hangtop.records.process import Process

IN_A_COLLECTIVE = "a collective on the GPU"


def waits_for_gpu(process: Process, known: Doing | None, stacks: Looks) -> bool:
    """For a process whose GPU busy-waits: nothing speaks for work of its own.

    No byte moved, no child computes, and it stood at one line in all looks without the GIL. Where there are no stacks the GPU
    alone tells.
    """
    recent = process.recent
    children = (process.subtree_cpu_percent or 0.0) - (process.cpu_percent or 0.0)
    if children > WORTH_A_CORE or (recent is not None and (recent.io_b_s or 0.0) > IO_BYTES_S):
        return False
    if known is None:
        return True
    looks = [seen for _, stack in stacks if (seen := doing(stack)) is not None]
    lines = {tuple((frame.function, frame.file, frame.line) for frame in seen.thread.frames) for seen in looks}
    return len(looks) > 1 and len(lines) == 1 and not any(seen.thread.owns_gil for seen in looks)
