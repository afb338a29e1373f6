"""The system call in which a thread waits, with its descriptors. It needs the right to trace the process (ptrace(2)); without it,
the kernel's function is told at most (`wchan`)."""

from __future__ import annotations

import os
from functools import partial

from msgspec.structs import replace

from hangtop.records.waiting import AwaitedFile, BlockedCall
from hangtop.system.processes.kernel_threads import HIDDEN, wait_of
from hangtop.system.processes.linux import parse_stat
from hangtop.system.processes.proc_files import read_optional, read_proc
from hangtop.system.waits.call_limits import rest_of
from hangtop.system.waits.calls import (
    MAX_POLLED,
    POLLFD,
    Call,
    as_call,
    awaited_child,
    files_of,
    int_of,
    is_shared,
    is_timed,
    kind_of,
    parse_call,
    polled,
    selected,
    watched,
)

LOOKS = 3
"""A thread that goes on while its memory is read is looked at again, so often at most."""
MAX_THREADS = 512
MAX_PATH_BYTES = 4_096
AT_FDCWD = -100
"""Of openat(2): the path begins at the working folder."""
RESTARTED = {"poll": "poll", "sleep": "clock_nanosleep", "lock": "futex"}
"""The calls that the kernel restarts by `restart_syscall`, by the wait that wchan tells (ERESTART_RESTARTBLOCK in fs/select.c,
kernel/time/hrtimer.c, kernel/futex/waitwake.c)."""


def thread_ids(pid: int) -> tuple[int, ...]:
    """Its threads, the first one first, at most `MAX_THREADS`. Raises `OSError`."""
    return tuple(sorted((int(name) for name in os.listdir(f"/proc/{pid}/task")), key=lambda tid: (tid != pid, tid)))[:MAX_THREADS]


def blocked_call(pid: int, tid: int | None = None) -> BlockedCall:
    """Where this thread stands, the first one if no `tid` is given. May wait for the process: ask through a `Guard`. Raises
    `OSError` when it is gone."""
    tid = pid if tid is None else tid
    for _ in range(LOOKS):
        before = _look(pid, tid)
        call, at = before
        if call is None or call.spec is None:
            return at
        told = _explained(call, at)
        if _look(pid, tid)[0] == call:
            return told
    return replace(at, kind=None, name="", unread="it moves")


def _look(pid: int, tid: int) -> tuple[Call | None, BlockedCall]:
    """The call, and what is known without its arguments."""
    folder = f"/proc/{pid}/task/{tid}"
    state = parse_stat(read_proc(f"{folder}/stat")).state
    if state not in "SD":
        return None, BlockedCall(pid, tid, state)
    line, unread = "", None
    try:
        line = read_proc(f"{folder}/syscall").decode()
    except (PermissionError, FileNotFoundError) as error:  # not ours, or a kernel without it
        unread = "not permitted" if isinstance(error, PermissionError) else "this kernel does not tell"
    wchan = (read_optional(f"{folder}/wchan") or b"0").decode("utf-8", "replace").strip()
    call = parse_call(line)
    wait = wait_of(wchan, "" if call is None else str(call.number))
    if call is not None and call.name == "restart_syscall" and wait in RESTARTED:
        call = as_call(call, RESTARTED[wait])
    at = BlockedCall(pid, tid, state, wait=wait, wchan=None if wchan in HIDDEN else wchan, unread=unread)
    return call, replace(at, told_by="wchan" if at.wchan else "nothing")


def _explained(call: Call, at: BlockedCall) -> BlockedCall:
    """With what the arguments, and the memory that they point to, tell."""
    assert call.spec is not None
    kind = kind_of(call)
    rest_s, exact = rest_of(call, partial(_memory, at.pid))
    at = replace(at, kind=kind, name=call.name, told_by="syscall", timed=is_timed(call), rest_s=rest_s, rest_exact=exact)
    match kind:
        case "sleep":
            began = parse_stat(read_proc(f"/proc/{at.pid}/task/{at.tid}/stat")).start_ticks
            return replace(at, files=files_of(call), started_ticks=began)
        case "poll":
            files, unread = _polled_files(call, at.pid, at.tid)
            return replace(at, files=files, unread=unread)
        case "futex":
            return replace(at, shared=is_shared(call), address=call.arguments[0] if call.name != "futex_waitv" else None)
        case "child":
            by_fd = call.name == "waitid" and int_of(call.arguments[0]) == 3
            files = (AwaitedFile(int_of(call.arguments[1]), reads=True),) if by_fd else ()
            return replace(at, child=None if by_fd else awaited_child(call), files=files)
        case "open" if call.spec.path is not None:
            raw = _memory(at.pid, call.arguments[call.spec.path], MAX_PATH_BYTES)
            if raw is None or b"\0" not in raw:
                return replace(at, unread="its memory may not be read")
            writes = int_of(call.arguments[call.spec.path + 1]) & os.O_ACCMODE  # openat2 has its flags in memory
            ways = AwaitedFile(-1, writes != os.O_WRONLY, writes != os.O_RDONLY) if call.name != "openat2" else AwaitedFile(-1)
            return replace(at, path=_path_of(call, at.pid, raw.partition(b"\0")[0]), files=(ways,))
    return replace(at, files=files_of(call))


def _polled_files(call: Call, pid: int, tid: int) -> tuple[tuple[AwaitedFile, ...], str | None]:
    """What poll, select or epoll waits for, and why it is not all known."""
    if call.name.startswith("epoll"):
        try:
            return watched(read_proc(f"/proc/{pid}/task/{tid}/fdinfo/{int_of(call.arguments[0])}").decode()), None
        except OSError as error:
            return (), f"its epoll set may not be read: {error.strerror}"
    count = int_of(call.arguments[1] if call.name.endswith("poll") else call.arguments[0])
    if count < 0 or count > MAX_POLLED:
        return (), f"{count} descriptors are too many to read"
    if call.name.endswith("poll"):
        raw = _memory(pid, call.arguments[0], count * POLLFD.size)
        return ((), "its memory may not be read") if raw is None else (polled(raw), None)
    size = (count + 63) // 64 * 8
    sets = [_memory(pid, address, size) if address else b"" for address in call.arguments[1:4]]
    if None in sets:
        return (), "its memory may not be read"
    return selected(sets[0] or b"", sets[1] or b"", sets[2] or b"", count), None


def _path_of(call: Call, pid: int, raw: bytes) -> str:
    """The path of an `open`, absolute in the root folder of its process where its start is told."""
    path = raw.decode("utf-8", "surrogateescape")
    folder = AT_FDCWD if call.name == "open" else int_of(call.arguments[0])
    try:
        base = os.readlink(f"/proc/{pid}/cwd" if folder == AT_FDCWD else f"/proc/{pid}/fd/{folder}")
    except OSError:
        return path
    return os.path.normpath(os.path.join(base, path))


def _memory(pid: int, address: int, size: int) -> bytes | None:
    """Up to `size` bytes of its memory, through `/proc/PID/mem` (proc_pid_mem(5)); `None` where that is refused."""
    if not size:
        return b""
    try:
        fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.pread(fd, size, address) or None
    except (OSError, OverflowError):  # no such address
        return None
    finally:
        os.close(fd)
