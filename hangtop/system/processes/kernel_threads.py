"""State of a thread in the kernel, and the call in which it waits: Python's frames do not tell a sleep from a lock."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

import msgspec

from hangtop.common.decode_toml import decode_toml
from hangtop.records.stack import Wait
from hangtop.system.processes.linux import parse_stat
from hangtop.system.processes.proc_files import read_text

TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")
HIDDEN = ("", "0")
"""wchan when it may not be read, or the thread runs."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    wchan: dict[Wait, tuple[str, ...]]
    syscall: dict[str, dict[Wait, tuple[int, ...]]]
    read: dict[str, int]
    select: dict[str, tuple[int, ...]]


class KernelThread(msgspec.Struct, frozen=True):
    """One thread. `None`: may not be read."""

    state: str | None = None
    wait: Wait | None = None
    wchan: str | None = None


def kernel_thread(pid: int, tid: int) -> KernelThread:
    """The state of this thread; empty if it is gone, or this is no Linux."""
    task = f"/proc/{pid}/task/{tid}"
    stat = read_text(f"{task}/stat")
    state = parse_stat(stat.encode()).state if stat else None
    if state == "R":
        return KernelThread(state)
    wchan = read_text(f"{task}/wchan")
    call = read_text(f"{task}/syscall").split()
    number = call[0] if call else ""
    wait: Wait | None = "terminal" if _reads_terminal(pid, call) else wait_of(wchan, number)
    return KernelThread(state, wait, None if wchan in HIDDEN else wchan)


def _reads_terminal(pid: int, call: list[str], machine: str = platform.machine()) -> bool:
    """Whether it waits for what a person types: in a read of a terminal, or in a select over descriptor 0 alone (readline)."""
    table = _table()
    if len(call) < 2 or not call[0].isdigit():
        return False
    number, first = int(call[0]), int(call[1], 16)
    if number == table.read.get(machine):
        return _is_terminal(pid, first)
    return number in table.select.get(machine, ()) and first == 1 and _is_terminal(pid, 0)


def _is_terminal(pid: int, descriptor: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/fd/{descriptor}").startswith(TERMINALS)
    except OSError:  # gone, or not ours to see
        return False


def wait_of(wchan: str, syscall: str, machine: str = platform.machine()) -> Wait | None:
    """The kind of wait: by the kernel's function, else by the number of the system call."""
    table = _table()
    if wchan not in HIDDEN:
        for kind, beginnings in table.wchan.items():
            if wchan.startswith(beginnings):
                return kind
    for kind, numbers in table.syscall.get(machine, {}).items():
        if syscall.isdigit() and int(syscall) in numbers:
            return kind
    return None


@cache
def _table() -> _Table:
    return decode_toml(Path(__file__).with_name("waits.toml").read_bytes(), _Table)
