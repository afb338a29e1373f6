"""Watches of what processes waited for, as the source would tell them."""

from __future__ import annotations

from typing import Any

from hangtop.records.waiting import BlockedCall, CallKind, OtherEnd, TcpSocket, ThreadWait, WaitObject
from hangtop.records.watched_waits import SocketMoves, WaitsReading, WatchedProcess

OUTSIDE = 4711
"""A process that is no member."""


def waits(pid: int, *ends: OtherEnd, kind: CallKind = "receive", state: str = "S", tid: int | None = None) -> ThreadWait:
    return ThreadWait(BlockedCall(pid, tid or pid, state, kind, kind), ends)


def at_tcp(inode: int, *pids: int, reads: bool = True, writes: bool = False) -> OtherEnd:
    shown = WaitObject("tcp", reads, writes, inode, local="127.0.0.1:1", remote="127.0.0.1:2")
    return OtherEnd(shown, pids)


def at_lock(*pids: int) -> OtherEnd:
    return OtherEnd(WaitObject("file lock", inode=9, path="/data/lock"), pids)


def at_pipe(*pids: int) -> OtherEnd:
    return OtherEnd(WaitObject("pipe", reads=True, inode=5), pids)


def tcp(inode: int, **moved: Any) -> SocketMoves:
    return SocketMoves(TcpSocket(inode, "127.0.0.1:1", "127.0.0.1:2", "established", 1000), **moved)


def watched(pid: int, *threads: ThreadWait, state: str = "S", start_ticks: int = 7, **more: Any) -> WatchedProcess:
    known = {"command": f"/usr/bin/tool{pid} --x", "user": "alice", "stood": True, "complete": True}
    return WatchedProcess(pid, start_ticks, state, f"tool{pid}", threads=threads, **(known | more))


def watch(*processes: WatchedProcess, at: float = 9_990.0, asked: tuple[int, ...] = ()) -> WaitsReading:
    return WaitsReading(1, at, asked, processes, windows=4, seconds=2.8, done=True)
