"""The functions of the kernel in which a thread stands. Only root may read them (proc_pid_stack(5))."""

from __future__ import annotations

from hangtop.system.processes.proc_files import read_proc


def kernel_stack(pid: int, tid: int) -> tuple[str, ...]:
    """The innermost first; empty for a thread that computes. Raises `OSError`."""
    return parse_stack(read_proc(f"/proc/{pid}/task/{tid}/stack").decode("utf-8", "replace"))


def parse_stack(text: str) -> tuple[str, ...]:
    """Lines as `[<0>] futex_wait_queue+0x70/0xd0`."""
    names = (line.partition("] ")[2].partition("+")[0].strip() for line in text.splitlines())
    return tuple(name for name in names if name and not name.startswith("0x"))
