"""What stands at the end of a process's waits: does the process there work, is it stopped or dead, or does it idle? Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.clean_words import short_line
from hangtop.common.text import moment
from hangtop.diagnosis.facts.held_back import held_back
from hangtop.diagnosis.facts.long_sleeps import Sleep, sleep_of
from hangtop.diagnosis.facts.rests_between import RESTS, rests_between
from hangtop.diagnosis.facts.wait_moves import Watch, moves_of
from hangtop.records.nodes import pid_there
from hangtop.records.waiting import WAKERS, OtherEnd, ThreadWait, outer_ends, port_of
from hangtop.records.watched_waits import AGAIN, SocketMoves, WatchedProcess, windows_sent

SideKind = Literal["works", "stopped", "dead", "idle", "nobody", "unseen", "unsure"]
UNSURE = frozenset({"unseen", "unsure"})
"""Ends of which nothing tells whether an answer is on its way."""
AT_SOCKETS = frozenset({"receive", "send", "connect", "accept", "poll", "read", "write"})
MOST_HOLDERS = 8


class OtherSide(Struct, frozen=True):
    """`pid`: the process at the end, `None` for nobody. `path`: the pids from the first other process on to it. `text`: what the
    waiting process waits for, as the rest of a sentence after "waits for". `doubted`: it works, or spins; or only the place where
    it was started tells that it is waited for. `unseen`: it is on another machine, and what it does cannot be known here.
    `unsure`: it took the question, and wakes by its own clock. `gathers`: it lets in one after another, and has answered nobody
    who is in."""

    kind: SideKind
    text: str
    pid: int | None = None
    path: tuple[int, ...] = ()
    doubted: bool = False
    gathers: bool = False


def side_of(watch: Watch, process: WatchedProcess, thread: ThreadWait) -> OtherSide | None:
    """The end of what this thread waits for; `None` where nothing tells, or only its own process could end it."""
    return _beyond(watch, process, thread, (process.pid,))


def _beyond(watch: Watch, process: WatchedProcess, thread: ThreadWait, path: tuple[int, ...]) -> OtherSide | None:
    """Any of the ends will do: one that works is enough, and a process is blamed only if all of them lead to it."""
    ends = list(outer_ends(thread))
    if len(path) > 1:  # a server waits for the next request of each of its clients, and answers none of them thereby
        ends = [end for end in ends if not (end.object.kind == "tcp" and port_of(end.object.local) in process.listens)]
    if len(ends) == 1 and (nobody := _nobody(ends[0])) is not None:
        return replace(nobody, path=path[1:])
    others = [end for end in ends if not end.pids or not set(end.pids) <= set(path)]  # ssh also reads what its caller may say
    if others and all(end.elsewhere and end.object.remote for end in others):
        return OtherSide("unseen", f"{others[0].object.remote}, which is on another machine or in a container", path=path[1:])
    pids = [pid for pid in dict.fromkeys(pid for end in ends for pid in end.pids) if pid not in path]
    sides = [_side(watch, pid, path) for pid in pids[:MOST_HOLDERS]]
    known = [side for side in sides if side is not None]
    if works := next((side for side in known if side.kind == "works"), None):
        return works
    alike = len(known) == len(pids) and len({side.pid for side in known}) == 1 and all(end.pids for end in ends)
    return max(known, key=lambda side: len(side.path)) if alike else None


def _nobody(end: OtherEnd) -> OtherSide | None:
    """A FIFO that is being opened waits for the other end, which nobody has open (fifo(7))."""
    if end.object.kind != "fifo" or not end.known or end.pids:
        return None
    other = "writer" if end.object.reads else "reader"
    seen = " that may be looked at" if end.hidden else ""
    return OtherSide("nobody", f"a {other} of {end.object.path}, which no process{seen} has open")


def stands_stopped(process: WatchedProcess) -> bool:
    """Stopped for the whole watch; what limits its share of a core stops it and lets it go on by turns."""
    return process.state in "Tt" and process.stood and not process.busy_in


def _side(watch: Watch, pid: int, path: tuple[int, ...]) -> OtherSide | None:
    process = watch.processes.get(pid)
    if process is None:
        return None
    here, name = (*path[1:], pid), named(process)
    if process.state in "ZX" and _went_on(watch, path[-1]):
        late = watch.reading.started_at + watch.reading.seconds > watch.pauses_end_at
        return None if late else OtherSide("works", f"{name} and what comes after it", pid, here, doubted=True)
    if process.state in "ZX" or stands_stopped(process):
        kind: SideKind = "stopped" if process.state in "Tt" else "dead"
        return OtherSide(kind, f"{name}, which is {kind}", pid, here)
    if (doing := _work(watch, _without_links(watch, process, path))) is not None:
        return OtherSide("works", f"{name}, which {doing}", pid, here, doubted=doing in (COMPUTES, WRITES))
    first = next(iter(process.threads), None)
    if first is not None and (pause := _pauses(watch, process, first)) is not None:
        return OtherSide("works", f"{name}, which sleeps until {moment(pause.until, watch.reading.started_at)}", pid, here)
    if first is not None and first.call.kind != "poll" and rests_between(watch, process):
        return OtherSide("works", f"{name}, which {RESTS}", pid, here, doubted=True)
    onward = _beyond(watch, process, first, (*path, pid)) if first is not None else None
    if onward is not None and not (onward.kind == "idle" and first is not None and _is_asked_there(process, first)):
        text = f"{name}, which waits for {onward.text}"
        return OtherSide(onward.kind, text, onward.pid, onward.path, onward.doubted, onward.gathers)
    helpers = (_beyond(watch, process, thread, (*path, pid)) for thread in process.threads[1:])
    if helped := next((side for side in helpers if side is not None and side.kind == "works"), None):
        return OtherSide("works", f"{name}, which waits for {helped.text}", helped.pid, helped.path, helped.doubted)
    answers = first is not None and path[-1] in watch.processes and bool(process.listens or _serves(first))
    if answers and (held := held_back(watch, process, watch.processes[path[-1]])) is not None:
        return OtherSide("unsure" if held.unsure else "works", f"{name}, which {held.text}", pid, here, doubted=held.doubted)
    if process.changed_in and not (
        first is not None and _serves(first)
    ):  # it goes from call to call, and nothing tells whether that is work
        return None
    if process.host and not _all_told(process):
        return OtherSide("unseen", f"{name}, of which it cannot be seen from here what it waits for", pid, here)
    if path[-1] in watch.processes and _gathers(process, watch.processes[path[-1]]):
        return OtherSide("idle", f"{name}, which waits for others to connect", pid, here, gathers=True)
    return OtherSide("idle", f"{name}, which {_idles(first)}", pid, here)


def _went_on(watch: Watch, pid: int) -> bool:
    """Whether a process that waited for the end of a child was woken: a shell between two commands waits for the next one."""
    waiter = watch.processes.get(pid)
    if waiter is None or not waiter.threads or waiter.state in "ZX":
        return False
    return waiter.threads[0].call.kind == "child" and bool(waiter.woken_in or waiter.changed_in)


def _all_told(process: WatchedProcess) -> bool:
    """Of a process on another node: whether each of its threads waits for a clock, for another of its threads, at connections or
    for a lock. What stands behind pipes, files, children and unix sockets there is not looked at."""
    return process.complete and all(map(_is_told, process.threads))


def _is_told(thread: ThreadWait) -> bool:
    call = thread.call
    if call.kind == "futex":
        return call.shared is False
    if call.kind == "file lock":
        return all(end.known for end in thread.ends)
    at_known = all(end.object.kind == "tcp" or end.object.kind in WAKERS for end in thread.ends)
    return call.kind == "sleep" or (call.kind in AT_SOCKETS and bool(thread.ends) and at_known and call.unread is None)


def _gathers(process: WatchedProcess, asks: WatchedProcess) -> bool:
    """Whether its only thread waits for one more to connect, took what the one that asks has sent, and never sent a byte on that
    connection. A server with one thread that answers does so before it lets in the next."""
    threads, waiting = process.threads, next(iter(asks.threads), None)
    if not process.complete or len(threads) != 1 or threads[0].call.kind != "accept" or waiting is None:
        return False
    at = {end.object.inode for end in waiting.ends if process.pid in end.pids and not end.not_accepted}
    links = [moves for moves in asks.sockets if moves.last.inode in at]
    return bool(links) and all(moves.last.received_bytes == 0 and not moves.queued for moves in links)


def _is_asked_there(process: WatchedProcess, thread: ThreadWait) -> bool:
    """Whether it waits for the next request of its clients as well: then it owes the answer, and not who else may ask it."""
    return any(end.object.kind == "tcp" and port_of(end.object.local) in process.listens for end in outer_ends(thread))


def _pauses(watch: Watch, process: WatchedProcess, first: ThreadWait) -> Sleep | None:
    """Its sleep, if that will end soon enough. Of several threads another one may be what counts; where the first only waits for
    the others, any of these."""
    if not process.complete:
        return None
    within = first.call.kind == "futex" and not outer_ends(first)
    telling = process.threads[1:] if within else process.threads if len(process.threads) == 1 else ()
    sleeps = (sleep_of(watch, process, thread) for thread in telling)
    return next((sleep for sleep in sleeps if sleep is not None and sleep.is_pause), None)


def _without_links(watch: Watch, process: WatchedProcess, path: tuple[int, ...]) -> WatchedProcess:
    """Without its connections to those that wait for it: what they send it, heartbeats among that, is not its work."""
    waiters = (watch.processes[pid] for pid in path if pid in watch.processes)
    far = {(moves.last.remote, moves.last.local) for waiter in waiters for moves in waiter.sockets}
    sockets = tuple(moves for moves in process.sockets if (moves.last.local, moves.last.remote) not in far)
    return replace(process, sockets=sockets)


COMPUTES, WRITES = "computes", "reads or writes"
"""These may go on for ever."""
BUSY_WINDOWS = 1 / 7
"""Part of the windows of a long watch in which it must have been busy. On a crowded machine a server that looks for requests
twice a second waits for a core for more than a tenth of a window now and then: seen at a load of 27 on 2 cores."""


def _work(watch: Watch, process: WatchedProcess) -> str | None:
    """What shows that it works, as a verb."""
    if computes(watch, process):
        return COMPUTES
    first, others = process.threads[:1], process.threads[1:]
    if any(moves_of(watch, process, thread) for thread in first):
        return "transfers"
    if any(_writes_on(watch, process, thread) for thread in first):
        return WRITES
    return "transfers" if any(_steadily(watch, process, thread) for thread in others) else None


def computes(watch: Watch, process: WatchedProcess) -> bool:
    return process.busy_in >= max(AGAIN, BUSY_WINDOWS * watch.reading.windows)


def _steadily(watch: Watch, process: WatchedProcess, thread: ThreadWait) -> bool:
    """A thread beside the first may be a heartbeat's: in each window but one bytes must come."""
    inodes = {end.object.inode for end in thread.ends if end.object.kind == "tcp"}
    least = max(AGAIN, watch.reading.windows - 1)
    return len(inodes) == 1 and any(
        moves.last.inode in inodes and (moves.received_in >= least or windows_sent(moves)) for moves in process.sockets
    )


def _writes_on(watch: Watch, process: WatchedProcess, first: ThreadWait) -> bool:
    """Whether its first thread passes bytes in all windows but one, wherever it was seen to wait. One that waits for requests may
    write a heartbeat all the same."""
    if _serves(first):
        return False
    return any(moves.tid == first.call.tid and moves.moved_in >= watch.reading.windows - 1 for moves in process.moves)


def only_listens(thread: ThreadWait) -> bool:
    """Whether nobody else could wake it but one that connects."""
    return all(end.object.tcp_state == "listen" or _is_unix_listener(end) for end in outer_ends(thread))


def waits_to_be_asked(thread: ThreadWait) -> bool:
    """Whether it waits for who connects, and nobody is connected."""
    return _serves(thread) and only_listens(thread)


def _serves(first: ThreadWait) -> bool:
    return first.call.kind == "accept" or any(end.object.tcp_state == "listen" or _is_unix_listener(end) for end in first.ends)


def _is_unix_listener(end: OtherEnd) -> bool:
    """Bound to a path, with no other end."""
    return end.object.kind == "unix" and not end.known and bool(end.object.path)


def _idles(first: ThreadWait | None) -> str:
    if first is None or first.call.kind is None:
        return "does nothing"
    if first.call.kind == "sleep":
        return "sleeps"
    return "waits for requests" if _serves(first) else f"does nothing: it is in {first.call.name}"


def named(process: WatchedProcess) -> str:
    """`curl https://…` with its pid, its owner, and its node where that is another one."""
    where = f" on {process.host}" if process.host else ""
    return f"`{short_command(process)}` (pid {pid_there(process.pid)}{where}{f', {process.user}' if process.user else ''})"


def short_command(process: WatchedProcess) -> str:
    """Its command without the folder of its program, and not too long."""
    return short_line(process.command or process.name)


def unanswered(process: WatchedProcess, thread: ThreadWait) -> Iterable[SocketMoves]:
    """Connections at which this thread waits for an answer: what it sent last was acknowledged, and nothing came since."""
    inodes = {end.object.inode for end in thread.ends if end.object.kind == "tcp" and end.object.reads}
    for moves in process.sockets:
        row = moves.last
        asked = not row.unacked_bytes and (row.acked_bytes or 0) > 1
        if row.inode in inodes and asked and (row.last_sent_ms or 0) <= (row.last_received_ms or -1):
            yield moves
