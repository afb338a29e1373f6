"""Is a process blocked in the kernel for good? D alone is no sign: a healthy big read was in D in 8 of 8 looks (rule R4)."""

from __future__ import annotations

import re
from collections.abc import Collection

from hangtop.records.process import BlockedOn, Process, ProcessReading
from hangtop.stacks.loops import recently

BLOCKED_PART = 0.9
LOOKS = 2
SECONDS = 1.5
IO_BYTES_S = 1_000.0
CPU_PERCENT = 1.0
GPU_DRIVER = re.compile(r"(?:nv_|_nv\d|nvidia_|nvUvm|nvlink_|nvswitch_|nvkms_|uvm_|rm_|os_)")
"""How the functions of NVIDIA's kernel modules begin (kernel-open/ of open-gpu-kernel-modules; `_nv012345rm` of the closed core).
`nvme_`, `nvmet_`, `nvmem_`, `nvdimm_` are storage."""


def is_blocked(process: Process) -> bool:
    """In uninterruptible sleep in 9 of 10 looks, at one place of the kernel; no byte moved, no processor was used."""
    recent = recently(process)
    if process.state != "D" or recent.samples < LOOKS or recent.seconds < SECONDS or recent.wchan is None:
        return False
    idle = (recent.io_b_s or 0.0) <= IO_BYTES_S and (recent.cpu_percent or 0.0) < CPU_PERCENT
    return recent.blocked_part >= BLOCKED_PART and idle


def in_gpu_driver(wchan: str | None) -> bool:
    """Whether this wait channel is a function of NVIDIA's driver."""
    return wchan is not None and GPU_DRIVER.match(wchan) is not None


def blocked_on(procs: ProcessReading, pids: Collection[int]) -> BlockedOn | None:
    """What the first of these waits for whose file is known, a dead mount before others."""
    known = [blocked for blocked in procs.blocked_on if blocked.pid in pids]
    return min(known, key=lambda blocked: blocked.answers is not False, default=None)


def mount_words(found: BlockedOn) -> str:
    """`/mnt/ckpt (nfs4, server:/export) does not answer: its server or the way to it is down`."""
    about = ", ".join(word for word in (found.kind, found.device) if word)
    answers = {
        True: "answers statfs: it is frozen, or its device is slow or sick",
        False: "does not answer statfs: its server or the way to it is down",
        None: "was asked whether it is alive",
    }
    return f"{found.mount}{f' ({about})' if about else ''} {answers[found.answers]}"
