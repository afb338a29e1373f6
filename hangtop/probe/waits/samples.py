"""The counters of some processes at one moment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from msgspec import Struct

from hangtop.probe.waits.read_files import ReadFile, read_files
from hangtop.records.waiting import BlockedCall, TcpSocket
from hangtop.system.guard import Guard
from hangtop.system.processes.linux import PAGE_BYTES, read_stat
from hangtop.system.processes.proc_files import fields_of, read_optional, read_proc
from hangtop.system.waits.blocked_call import blocked_call
from hangtop.system.waits.sockets import UnixSocket, read_tcp, read_unix

RESTS = ("sleep", "poll")
"""Calls in which a reader rests that keeps to a rate. Of others the bytes tell."""
COUNTED = ("rchar", "wchar", "read_bytes")
"""Of /proc/PID/task/TID/io (proc_pid_io(5)). `write_bytes` counts what was put into memory for the disk: `wchar` has it."""
MAJOR_FAULTS = 9
"""Place of `majflt` in a line of `stat`, after the name (proc_pid_stat(5))."""
WAKES = b"\nvoluntary_ctxt_switches:"
"""Of /proc/PID/task/TID/status (proc_pid_status(5)): how often it went to sleep."""


class Sample(Struct, frozen=True):
    """One process. `main_ns`: its first thread ran, or waited for a core. `bytes`: by thread, what passed through its calls, with
    the pages that it had to load; a thread that may not be read is left out. `wakes`: how often its first thread went to sleep.
    `None`: not told."""

    state: str
    start_ticks: int
    cpu_ticks: int
    call: BlockedCall | None = None
    main_ns: int | None = None
    bytes: Mapping[int, int] = {}
    wakes: int | None = None


class Moment(Struct, frozen=True):
    """`at`: monotonic. `sockets`: by inode. `far`: the other ends of these, by the same inodes, as far as they are here. `unix`:
    by inode, other ends among them. `files`: by pid and path, what processes read that sleep or poll."""

    at: float
    processes: Mapping[int, Sample]
    sockets: Mapping[int, TcpSocket] = {}
    far: Mapping[int, TcpSocket] = {}
    unix: Mapping[int, UnixSocket] = {}
    files: Mapping[int, dict[str, ReadFile]] = {}


class Sampler:
    """Remembers only who does not answer."""

    def __init__(self) -> None:
        self._guard: Guard[int, Sample | None] = Guard()
        self._files: Guard[int, dict[str, ReadFile]] = Guard()  # one that waits for a dead mount has told all else

    def take(
        self, at: float, threads: Mapping[int, tuple[int, ...]], inodes: Collection[int], unix: Collection[int] = ()
    ) -> Moment:
        """`threads`: by pid, those that are counted, the first one first. `inodes`: of TCP sockets. `unix`: of unix sockets."""
        told = self._guard.known({pid: partial(_sample, pid, tids) for pid, tids in threads.items()})
        known = {pid: sample for pid, sample in told.items() if sample is not None}
        sockets, far = _sockets(inodes) if inodes else ({}, {})
        resting = [pid for pid, sample in known.items() if sample.call is not None and sample.call.kind in RESTS]
        files = self._files.known({pid: partial(read_files, pid) for pid in resting})
        return Moment(at, known, sockets, far, _unix(unix) if unix else {}, files)


def _sample(pid: int, tids: tuple[int, ...]) -> Sample | None:
    """Raises `OSError`, if a thread ends meanwhile."""
    stat = read_stat(pid)
    if stat is None:
        return None
    if stat.state in "ZX":
        return Sample(stat.state, stat.start_ticks, stat.cpu_ticks)
    ran = (read_optional(f"/proc/{pid}/task/{tids[0]}/schedstat") or b"").split()
    counted = {tid: count for tid in tids if (count := _bytes(pid, tid)) is not None}
    main_ns = int(ran[0]) + int(ran[1]) if len(ran) > 1 else None
    call = blocked_call(pid, tids[0])
    return Sample(stat.state, stat.start_ticks, stat.cpu_ticks, call, main_ns, counted, _wakes(pid, tids[0]))


def _wakes(pid: int, tid: int) -> int | None:
    words = (read_optional(f"/proc/{pid}/task/{tid}/status") or b"").partition(WAKES)[2].split()
    return int(words[0]) if words else None


def _bytes(pid: int, tid: int) -> int | None:
    """Needs the right to trace it."""
    io = read_optional(f"/proc/{pid}/task/{tid}/io")
    if io is None:
        return None
    fields = fields_of(io)
    words = read_proc(f"/proc/{pid}/task/{tid}/stat").rpartition(b")")[2].split()
    return sum(int(fields[name]) for name in COUNTED) + int(words[MAJOR_FAULTS]) * PAGE_BYTES


def _sockets(inodes: Collection[int]) -> tuple[dict[int, TcpSocket], dict[int, TcpSocket]]:
    """These, and their other ends, which no process need hold that may be looked at."""
    try:
        rows = [row for row in read_tcp() if row.state != "listen"]
    except OSError:  # the first look has told that this kernel does not answer
        return {}, {}
    own = {row.inode: row for row in rows if row.inode in inodes}
    by_ends = {(row.local, row.remote): row for row in rows}
    ends = ((inode, by_ends.get((row.remote, row.local))) for inode, row in own.items())
    return own, {inode: other for inode, other in ends if other is not None}


def _unix(inodes: Collection[int]) -> dict[int, UnixSocket]:
    try:
        rows = {row.inode: row for row in read_unix()}
    except OSError:  # as above
        return {}
    own = [rows[inode] for inode in inodes if inode in rows]
    return {row.inode: row for row in (*own, *(rows[each.peer] for each in own if each.peer in rows))}
