"""What threads wait for in the kernel, and which processes could end that wait.

All of it is what the kernel tells: nothing is concluded from names, addresses in programs, or time."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hangtop.records.stack import Wait

CallKind = Literal[
    "read", "write", "receive", "send", "connect", "accept", "open", "poll", "futex", "file lock", "child", "sleep", "signal",
    "storage", "queue", "io ring", "other",
]  # fmt: skip
"""Kinds of blocking system calls. `poll`: poll, select and epoll. `open`: also of a FIFO, which waits for its other end
(fifo(7)). `signal`: pause, sigsuspend, sigtimedwait. `storage`: sync, fsync, close. `queue`: messages and semaphores of System V
and POSIX."""


class AwaitedFile(Struct, frozen=True, omit_defaults=True):
    """A descriptor in a call: waits until it can be read (`reads`), written (`writes`), or both. `inode`: from epoll, which keeps
    a file after its descriptor was closed (epoll(7)); `None` elsewhere."""

    fd: int
    reads: bool = False
    writes: bool = False
    inode: int | None = None


class BlockedCall(Struct, frozen=True, omit_defaults=True):
    """Where one thread stands. `state`: the letter of proc(5); all else is empty in a state other than S and D.

    `kind`, `name`: the system call; `None` where it may not be read, or the thread sleeps outside of one. `wait`, `wchan`: the
    function of the kernel in which it sleeps, and its kind; that is all where `told_by` is "wchan". `files`: the descriptors.
    `unread`: why these are not all known. `timed`: the call has a time limit and then ends by itself; `None` unknown (a socket
    may have one, SO_RCVTIMEO). `shared`: of a futex, whether other processes may wake it (FUTEX_PRIVATE_FLAG is not set);
    `address`: of the futex. `child`: what `wait4` waits for: a pid, 0 its own group, -1 any child, less than -1 a group. `path`:
    of `open`. `rest_s`: how much longer a sleep or a poll lasts at most; `rest_exact`: it ends at a moment that is set.
    `started_ticks`: when the thread began, in clock ticks after boot; of a sleep alone.
    """

    pid: int
    tid: int
    state: str
    kind: CallKind | None = None
    name: str = ""
    told_by: Literal["syscall", "wchan", "nothing"] = "nothing"
    wait: Wait | None = None
    wchan: str | None = None
    files: tuple[AwaitedFile, ...] = ()
    unread: str | None = None
    timed: bool | None = None
    shared: bool | None = None
    address: int | None = None
    child: int | None = None
    path: str | None = None
    rest_s: float | None = None
    rest_exact: bool = False
    started_ticks: int | None = None


ObjectKind = Literal[
    "pipe", "fifo", "tcp", "unix", "other socket", "file", "file lock", "eventfd", "epoll", "timer", "signals", "process",
    "file events", "io ring", "terminal", "device", "folder", "child", "futex", "unknown",
]  # fmt: skip


class WaitObject(Struct, frozen=True, omit_defaults=True):
    """What a thread waits at. `reads`, `writes`: for which of both.

    `inode`: of sockets (also in `/proc/net`), pipes, FIFOs and files. `path`: of files, FIFOs, and bound unix sockets (`@name`:
    an abstract one, unix(7)). `local`, `remote`: of a TCP socket, as `address:port`; `tcp_state`: `established`, `listen` …
    `lock`: POSIX, FLOCK or OFDLCK, as /proc/locks says. `shared`: of a futex.
    """

    kind: ObjectKind
    reads: bool = False
    writes: bool = False
    inode: int | None = None
    path: str = ""
    local: str = ""
    remote: str = ""
    tcp_state: str = ""
    lock: str = ""
    shared: bool | None = None


def port_of(address: str) -> str:
    """Of `address:port`."""
    return address.rpartition(":")[2]


class OtherEnd(Struct, frozen=True, omit_defaults=True):
    """An object, and the processes that can end the wait at it: that hold the other end of it, the lock, or are the child.

    `pids`: all that were seen, the process itself among them if it holds both ends. `all_needed`: each of them must act (locks
    held by several); else any of them will do. `hidden`: so many processes may not be read, and one of them may hold it too.
    `uid`: the user of the other end, if a process that may not be read holds it for certain. `not_accepted`: the other end is a
    connection that waits in the queue of a listener, and `pids` hold the listener. `elsewhere`: the other end is in
    another network namespace, of another machine or a container: `remote` says where. `known`: False if nothing tells that end.
    """

    object: WaitObject
    pids: tuple[int, ...] = ()
    all_needed: bool = False
    hidden: int = 0
    uid: int | None = None
    not_accepted: bool = False
    elsewhere: bool = False
    known: bool = True


class ThreadWait(Struct, frozen=True, omit_defaults=True):
    """A thread, and what it waits for: any of `ends` will do (poll), there is one for other calls. `locked`: of one that sleeps,
    the files that its process has open and others have locked: it may sleep between two attempts to lock one, as SQLite does."""

    call: BlockedCall
    ends: tuple[OtherEnd, ...] = ()
    locked: tuple[OtherEnd, ...] = ()


WAKERS = frozenset({"eventfd", "timer", "signals", "epoll"})
"""What an event loop waits at besides, to be woken by its own threads, clocks and signals."""


def outer_ends(thread: ThreadWait) -> tuple[OtherEnd, ...]:
    """The ends that somebody else holds."""
    return tuple(end for end in thread.ends if end.object.kind not in WAKERS and end.pids != (thread.call.pid,))


class TcpSocket(Struct, frozen=True, omit_defaults=True):
    """One TCP socket, from the kernel's tcp_info (linux/tcp.h, tcp(7)) and inet_diag (sock_diag(7)).

    `unread_bytes`: received, not taken by the program; of a listener, connections that wait to be accepted. `unacked_bytes`:
    given to the kernel, not acknowledged by the other machine; `unsent_bytes` of these were not sent yet; of a listener, the
    greatest length of its queue. `acked_bytes`, `received_bytes`: since the connection began; the SYN counts as one acknowledged
    byte. `segments_…`: those that held data; `segments_again`:
    sent more than once, of all that it ever sent. `last_…_ms`: milliseconds since then; data that never came count from the start
    of the connection. `retransmits`: of the segment now due, unanswered. `probes`: of a closed window, unanswered.
    `window_limited_us`, `buffer_limited_us`: microseconds in which the other side's window, or our send buffer, held data back.
    `None`: a state without these (listen), an old kernel, or a socket of another network namespace, of which only the addresses
    are told.
    """

    inode: int
    local: str
    remote: str
    state: str
    uid: int
    unread_bytes: int | None = None
    unacked_bytes: int | None = None
    unsent_bytes: int | None = None
    acked_bytes: int | None = None
    received_bytes: int | None = None
    last_sent_ms: int | None = None
    last_received_ms: int | None = None
    last_ack_received_ms: int | None = None
    retransmits: int | None = None
    probes: int | None = None
    window_limited_us: int | None = None
    buffer_limited_us: int | None = None
    segments_in: int | None = None
    segments_out: int | None = None
    segments_again: int | None = None


class WaitReading(Struct, frozen=True, omit_defaults=True):
    """One look at some processes. `sockets`: the TCP sockets that they hold. `hidden`: processes of this machine whose
    descriptors may not be read, if any had to be searched. `complete`: pids of which every thread is told. `unanswered`: pids
    that did not answer in time. `note`: what could not be read at all."""

    threads: tuple[ThreadWait, ...] = ()
    sockets: dict[int, tuple[TcpSocket, ...]] = {}
    hidden: int = 0
    complete: tuple[int, ...] = ()
    unanswered: tuple[int, ...] = ()
    note: str | None = None
