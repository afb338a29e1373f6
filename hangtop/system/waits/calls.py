"""The system call in which a thread waits, from `/proc/PID/task/TID/syscall` (proc_pid_syscall(5)), and the sets of descriptors
that some calls point to. Pure."""

from __future__ import annotations

import platform
import struct
from functools import cache
from pathlib import Path

import msgspec

from hangtop.common.decode_toml import decode_toml
from hangtop.records.waiting import AwaitedFile, CallKind

POLLIN, POLLPRI, POLLOUT = 0x1, 0x2, 0x4
"""poll(2); EPOLLIN, EPOLLPRI, EPOLLOUT of epoll_ctl(2) are the same bits."""
POLLFD = struct.Struct("=ihh")
MAX_POLLED = 4_096
"""Descriptors read from one poll or select."""
FUTEX_WAITS = frozenset((0, 6, 9, 11, 13))
"""FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2 (futex(2))."""
FUTEX_PRIVATE = 128
"""FUTEX_PRIVATE_FLAG of futex(2), and FUTEX2_PRIVATE of its younger sisters: the same bit."""
LOCK_WAITS = frozenset((7, 38))
"""F_SETLKW and F_OFD_SETLKW (fcntl(2))."""


class CallSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of `calls.toml`, where the fields are explained."""

    kind: CallKind
    x86_64: int | None = None
    aarch64: int | None = None
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    timeout: int | None = None
    timeout_ms: int | None = None
    path: int | None = None


class Call(msgspec.Struct, frozen=True):
    """A system call with its six arguments, as unsigned numbers of 64 bits. `name`: empty for a call that is not in the table."""

    number: int
    arguments: tuple[int, ...]
    name: str = ""
    spec: CallSpec | None = None


def parse_call(line: str, machine: str = platform.machine()) -> Call | None:
    """The call of a sleeping thread; `None` for `running`, and for a sleep outside of a call (-1)."""
    words = line.split()
    if len(words) < 7 or not words[0].isdecimal():
        return None
    number = int(words[0])
    name, spec = _by_number(machine).get(number, ("", None))
    return Call(number, tuple(int(word, 16) for word in words[1:7]), name, spec)


def as_call(call: Call, name: str) -> Call:
    """The same arguments under another name: after a stop, `restart_syscall` goes on with the registers of the first call
    (restart_syscall(2))."""
    return msgspec.structs.replace(call, name=name, spec=_table()[name])


def int_of(argument: int) -> int:
    """An argument of C type `int`: the lower 32 bits, signed."""
    low = argument & 0xFFFF_FFFF
    return low - (1 << 32) if low >> 31 else low


def kind_of(call: Call) -> CallKind | None:
    """The kind of wait; `fcntl` waits for a lock only with a command that waits, `futex` only with an operation that does."""
    if call.spec is None:
        return None
    if (call.name == "fcntl" and int_of(call.arguments[1]) not in LOCK_WAITS) or (
        call.name == "futex" and call.arguments[1] & 0x7F not in FUTEX_WAITS
    ):
        return "other"
    return call.spec.kind


def files_of(call: Call) -> tuple[AwaitedFile, ...]:
    """The descriptors that stand in the arguments themselves."""
    if call.spec is None:
        return ()
    found = [AwaitedFile(int_of(call.arguments[at]), reads=True) for at in call.spec.reads]
    return (*found, *(AwaitedFile(int_of(call.arguments[at]), writes=True) for at in call.spec.writes))


def is_timed(call: Call) -> bool | None:
    """Whether the call has a time limit; `None` where its arguments do not tell: sockets have limits of their own."""
    if call.spec is None or (call.spec.kind in ("receive", "send", "connect", "accept") and call.spec.timeout is None):
        return None
    if call.spec.kind == "sleep":
        return True
    if call.spec.timeout_ms is not None:
        return int_of(call.arguments[call.spec.timeout_ms]) >= 0
    return call.spec.timeout is not None and call.arguments[call.spec.timeout] != 0


def is_shared(call: Call) -> bool | None:
    """Of a futex: whether another process may wake it. `None` for `futex_waitv`, whose flags lie in memory."""
    match call.name:
        case "futex":
            return not call.arguments[1] & FUTEX_PRIVATE
        case "futex_wait":
            return not call.arguments[3] & FUTEX_PRIVATE
    return None


def awaited_child(call: Call) -> int | None:
    """As `wait4` takes it: a pid, 0 the own group, -1 any child, below -1 a group. `None`: by a descriptor (P_PIDFD), or not
    told (vfork)."""
    if call.name == "wait4":
        return int_of(call.arguments[0])
    if call.name != "waitid":
        return None
    kind, number = int_of(call.arguments[0]), int_of(call.arguments[1])
    return {0: -1, 1: number, 2: -number}.get(kind)


def polled(raw: bytes) -> tuple[AwaitedFile, ...]:
    """An array of `struct pollfd` (poll(2)); negative descriptors are left out, as the kernel does."""
    rows = POLLFD.iter_unpack(raw[: len(raw) // POLLFD.size * POLLFD.size])
    return tuple(_awaited(fd, events) for fd, events, _ in rows if fd >= 0)


def selected(readable: bytes, writable: bytes, urgent: bytes, count: int) -> tuple[AwaitedFile, ...]:
    """Three bit sets, `fd_set` of select(2), for descriptors below `count`. In the words of a little-endian machine, descriptor
    N is bit N % 8 of byte N // 8."""
    sets = [{fd for fd in range(min(count, 8 * len(raw))) if raw[fd // 8] >> fd % 8 & 1} for raw in (readable, writable, urgent)]
    return tuple(AwaitedFile(fd, fd in sets[0] | sets[2], fd in sets[1]) for fd in sorted(set().union(*sets)))


def watched(fdinfo: str) -> tuple[AwaitedFile, ...]:
    """The lines `tfd: 5 events: 19 data: … pos:0 ino:8b sdev:10` of an epoll descriptor (proc_pid_fdinfo(5)). The inode has been
    told since Linux 4.13. Without any event it is switched off (EPOLLONESHOT)."""
    found = []
    for line in fdinfo.splitlines():
        if line.startswith("tfd:"):
            words = line.replace(":", ": ").split()
            field = dict(zip(words[::2], words[1::2], strict=False))
            events, inode = int(field["events:"], 16), field.get("ino:")
            if events & (POLLIN | POLLPRI | POLLOUT):
                found.append(_awaited(int(field["tfd:"]), events, None if inode is None else int(inode, 16)))
    return tuple(found)


def _awaited(fd: int, events: int, inode: int | None = None) -> AwaitedFile:
    return AwaitedFile(fd, bool(events & (POLLIN | POLLPRI)), bool(events & POLLOUT), inode)


@cache
def _by_number(machine: str) -> dict[int, tuple[str, CallSpec]]:
    rows = ((getattr(spec, machine, None), name, spec) for name, spec in _table().items())
    return {number: (name, spec) for number, name, spec in rows if isinstance(number, int)}


@cache
def _table() -> dict[str, CallSpec]:
    return decode_toml(Path(__file__).with_name("calls.toml").read_bytes(), dict[str, CallSpec])
