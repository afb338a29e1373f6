"""Is a process blocked in the kernel for good? D alone is no sign: a healthy big read was in D in 8 of 8 looks (rule R4)."""

from __future__ import annotations

from hangtop.records.process import Process

BLOCKED_PART = 0.9
LOOKS = 3
IO_BYTES_S = 1_000.0
CPU_PERCENT = 1.0


def is_blocked(process: Process) -> bool:
    """In uninterruptible sleep in 9 of 10 looks, at one place of the kernel; no byte moved, no processor was used."""
    recent = process.recent
    if process.state != "D" or recent is None or recent.samples < LOOKS or recent.wchan is None:
        return False
    idle = (recent.io_b_s or 0.0) <= IO_BYTES_S and (recent.cpu_percent or 0.0) < CPU_PERCENT
    return recent.blocked_part >= BLOCKED_PART and idle
