"""What processes waited for during some seconds, and what moved meanwhile: counters of the kernel over several windows of time.

A window is about a second. How many windows saw a movement tells more than how much moved: a far side that takes a few kB now and
then keeps a sender alive, and no figure in MB/s would tell that from silence."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.waiting import TcpSocket, ThreadWait

AGAIN = 2
"""Windows of a watch in which something must have moved: what moved once may be a last rest."""
SMALLEST_FULL_BYTES = 536
"""The data of a segment that fits every way of IPv4 (RFC 9293, 3.7.1). A transfer fills its segments, and may fill larger ones; a
heartbeat does not. An average, for a transfer ends with a rest."""


class SocketMoves(Struct, frozen=True, omit_defaults=True):
    """One TCP socket over a watch. `last`: as the last look saw it. `received_bytes`, `acked_bytes`: during the watch;
    `received_in`, `acked_in`: in so many of its windows. `taken_in`: windows in which its program took from what lay unread,
    though not everything. `full`: data that came filled their segments. `always_unsent`: at each look bytes waited to be sent.
    `far_taken_in`: as `taken_in`, of the other end, if that is on this machine, whichever of its threads takes. `queued`: at the
    last look bytes waited to be sent, or lay unread at the other end."""

    last: TcpSocket
    received_bytes: int = 0
    acked_bytes: int = 0
    received_in: int = 0
    acked_in: int = 0
    taken_in: int = 0
    full: bool = False
    always_unsent: bool = False
    far_taken_in: int = 0
    queued: bool = False


def windows_sent(moves: SocketMoves) -> int:
    """Windows in which the other end took of what waited for it. What its kernel alone acknowledged counts only while more waits
    to be sent: a heartbeat is acknowledged too."""
    return max(moves.far_taken_in, moves.acked_in if moves.always_unsent else 0)


class UnixMoves(Struct, frozen=True, omit_defaults=True):
    """One unix socket over a watch, of which the kernel tells only what lies unread. `far_taken_in`: windows in which the other
    end took from that, though not everything; `far_unread_bytes`: what was left."""

    inode: int
    path: str = ""
    far_taken_in: int = 0
    far_unread_bytes: int = 0


class ThreadMoves(Struct, frozen=True, omit_defaults=True):
    """Bytes that one thread passed through read and write calls, read from storage, and pages that it had to load, during a
    watch; and in how many of its windows."""

    tid: int
    moved_in: int = 0
    bytes: int = 0


class FileReads(Struct, frozen=True, omit_defaults=True):
    """A file that kept its size over a watch, and was read on: in so many windows, by so many bytes, and not to its end. Or one
    that is `written`: behind what was there."""

    path: str
    read_in: int = 0
    bytes: int = 0
    written: bool = False


class WatchedProcess(Struct, frozen=True, omit_defaults=True):
    """One process over a watch. `threads`: what they waited for when the watch began, the first one first; of others that are
    alike, one. `complete`: none is left out besides. `stood`: at every look the first thread was in the same call.
    `changed_in`: windows after which it was in another one. `woken_in`: windows in which it stood in one call and was woken.

    `cpu_s`: processor time of all threads; `main_s`: time in which the first thread ran or waited for a core; `busy_in`: windows
    in which either was more than a tenth, without `polled_s`. `polls`: threads beside the first that only asked the kernel
    whether something has come, and never slept; `polled_s`: the processor time that they took for it. `sockets`, `unix`: those
    that moved, that the other end has closed, or that one of its threads waits at. `listens`: ports at which it accepts
    connections. `files`: that it reads or writes; of one that sleeps or polls alone. `ppid`: its parent.
    `counted`: a shell of whose program each loop ends by itself.
    `host`: the other node on which it runs, where it holds the far end of a connection.
    """

    pid: int
    start_ticks: int
    state: str
    name: str
    command: str = ""
    user: str | None = None
    threads: tuple[ThreadWait, ...] = ()
    complete: bool = False
    stood: bool = False
    changed_in: int = 0
    cpu_s: float = 0.0
    main_s: float | None = None
    busy_in: int = 0
    moves: tuple[ThreadMoves, ...] = ()
    sockets: tuple[SocketMoves, ...] = ()
    listens: tuple[str, ...] = ()
    unix: tuple[UnixMoves, ...] = ()
    woken_in: int = 0
    polls: tuple[int, ...] = ()
    polled_s: float = 0.0
    files: tuple[FileReads, ...] = ()
    ppid: int = 0
    host: str = ""
    counted: bool = False


class Continuer(Struct, frozen=True, omit_defaults=True):
    """A shell, `pid`, whose script comes to a `command` that lets the process `stopped` go on."""

    pid: int
    stopped: int
    command: str


class WaitsReading(Struct, frozen=True, omit_defaults=True, tag="waits"):
    """The answer to a `WaitsAsk`, or what is known of it so far. `asked`: the members. `processes`: these, and those at the other
    ends of their waits, step by step. `windows`: how many, in `seconds`. `hidden`: processes that could not be searched for other
    ends. `note`: what could not be read at all. `beside`: processes that the same job started beside the members. `near`: of
    other jobs, that work in a folder of theirs. `continuers`: shells that will let a stopped member go on."""

    ask: int
    started_at: float
    asked: tuple[int, ...] = ()
    processes: tuple[WatchedProcess, ...] = ()
    windows: int = 0
    seconds: float = 0.0
    hidden: int = 0
    done: bool = False
    note: str | None = None
    beside: tuple[int, ...] = ()
    near: tuple[int, ...] = ()
    continuers: tuple[Continuer, ...] = ()
