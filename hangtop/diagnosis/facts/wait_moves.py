"""What moves at the place where a thread waits: bytes of its connections, of its own calls. Pure; see
`records/watched_waits.py` for the counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.text import size
from hangtop.records.stack import Excerpt, Loop, StacksReading
from hangtop.records.waiting import OtherEnd, ThreadWait, WaitReading, outer_ends
from hangtop.records.watched_waits import (
    AGAIN,
    SMALLEST_FULL_BYTES,
    FileReads,
    SocketMoves,
    WaitsReading,
    WatchedProcess,
    windows_sent,
)
from hangtop.stacks.loops import loop_outward

LATE_PART = 0.5
"""Of the silence: what moved in this last part of it has not stood still for longer than it moved before, and is not called
still."""
AT_BYTES = frozenset({"read", "write", "storage", "open"})


class Movement(Struct, frozen=True):
    """What moves, as the verb of a sentence, and how much, which changes from look to look. `doubted`: it moved lately, and not
    in the watch."""

    text: str
    figures: str
    doubted: bool = False


class Watch(Struct, frozen=True):
    """A reading by pid. `silence_s`: for how long the log had been silent at its end. `pauses_end_at`: the moment up to which a
    sleep explains that. `logs`: the watched files that processes write, by their real paths; `beats_come`: lines come that tell
    nothing new.

    As far as a stack was looked at: `loops`: by thread, what its source says of the loop in which it stands, that of its caller
    where it stands in none; `timers`: by pid, how many moments an event loop has set itself; `paced`: pids of those of which all
    sleeps that the files of their stacks await are in loops that end by themselves; `continues`: pids of those whose source says
    that they come to let a stopped process go on."""

    reading: WaitsReading
    processes: Mapping[int, WatchedProcess]
    silence_s: float = 0.0
    pauses_end_at: float = 0.0
    loops: Mapping[int, Loop] = {}
    timers: Mapping[int, int] = {}
    paced: frozenset[int] = frozenset()
    logs: frozenset[str] = frozenset()
    beats_come: bool = False
    continues: frozenset[int] = frozenset()


def watch_of(
    reading: WaitsReading,
    silent_since: float | None = None,
    pause_s: float = 0.0,
    looks: Sequence[StacksReading] = (),
    logs: frozenset[str] = frozenset(),
) -> Watch:
    processes = {process.pid: process for process in reading.processes}
    ended_at = reading.started_at + reading.seconds
    since = ended_at if silent_since is None else silent_since
    sources = [excerpt for look in looks for excerpt in look.excerpts]
    seen = [(stack.pid, thread) for look in looks for stack in look.stacks if stack.pid in processes for thread in stack.threads]
    loops = {thread.tid: loop for _, thread in seen if thread.tid and (loop := loop_outward(thread.frames, sources)) is not None}
    timers = {pid: max(each.timers or 0 for at, each in seen if at == pid) for pid, thread in seen if thread.timers is not None}
    paced = frozenset(
        pid for pid in timers if only_paces((frame.file for at, each in seen if at == pid for frame in each.frames), sources)
    )
    lines = {(excerpt.file, excerpt.at) for excerpt in sources if excerpt.continues}
    comes = frozenset(pid for pid, thread in seen if any((frame.file, frame.line) in lines for frame in thread.frames))
    return Watch(reading, processes, ended_at - since, since + pause_s, loops, timers, paced, logs, continues=comes)


def only_paces(files: Iterable[str], sources: Sequence[Excerpt]) -> bool:
    """Whether all sleeps that these files await, as far as they are known, are in loops that end by themselves."""
    on_stack = frozenset(files)
    return {loop for excerpt in sources if excerpt.file in on_stack for loop in excerpt.awaits} == {"ends"}


def look_of(watch: Watch) -> WaitReading:
    """What all its processes waited for when it began."""
    processes = watch.reading.processes
    threads = tuple(thread for process in processes for thread in process.threads)
    return WaitReading(threads, complete=tuple(process.pid for process in processes if process.complete))


def thread_of(process: WatchedProcess, tid: int | None) -> ThreadWait | None:
    """This thread, the first one where it was not seen."""
    return next((thread for thread in process.threads if thread.call.tid == tid), next(iter(process.threads), None))


def moves_of(watch: Watch, process: WatchedProcess, thread: ThreadWait) -> Movement | None:
    """What moves at the place where this thread waits; `None` where nothing does, or nothing tells.

    Beside one connection alone any byte counts. A thread that waits at several, or for other threads of its process, may have a
    heartbeat among them: there a transfer is told by full segments, by bytes that always wait to be sent, or by bytes that
    come at each of them, whichever it is that counts."""
    ends = outer_ends(thread)
    by_inode = {moves.last.inode: moves for moves in process.sockets}
    at = [(end, by_inode[end.object.inode]) for end in ends if end.object.kind == "tcp" and end.object.inode in by_inode]
    for end, moves in at:
        alone = len(ends) == 1
        sends = end.object.writes and (alone or not end.object.reads)
        if sends and (moves.acked_in or _is_taken(watch, moves)):
            return _sends(watch, moves)
        if end.object.reads and alone and moves.received_in >= AGAIN:
            return _comes(watch, moves)
        if alone and (windows_sent(moves) or _is_taken(watch, moves)):
            return _sends(watch, moves)  # it waits for the answer, and the other end still takes what it asked
        if (alone or sends) and _sent_lately(watch, moves):
            return replace(_sends(watch, moves), doubted=True)
        if len(at) == len(ends) and all(each.received_in >= AGAIN for _, each in at):
            return _comes(watch, moves)
        if alone and moves.queued and not watch.reading.done:
            return Movement(f"has bytes before {moves.last.remote} that it may take yet", "", doubted=True)
    if _is_taken_at_unix(process, ends) or (process.woken_in >= AGAIN and _is_given(process, thread, ends)):
        return Movement("sends or receives", "")
    if thread.call.kind in AT_BYTES or thread.call.state == "D" or (_at_pipe(ends) and not thread.call.timed):
        passed = next((each for each in process.moves if each.tid == thread.call.tid), None)
        if passed is not None and passed.moved_in >= AGAIN:
            return Movement("reads or writes", _figures(watch, passed.bytes))
    if (file := _moved_on(watch, process, thread)) is not None:
        does = "writes" if file.written else "reads"
        return Movement(f"{does} {PurePath(file.path).name}", _figures(watch, file.bytes), doubted=file.written)
    if thread.call.kind in ("futex", "poll", "sleep", None):
        return next((said for moves in process.sockets if (said := _transfer(watch, moves)) is not None), None)
    return None


def _moved_on(watch: Watch, process: WatchedProcess, thread: ThreadWait) -> FileReads | None:
    """A file of a fixed size that it reads on piece by piece, and rests between, as who keeps to a rate does. It comes to an end;
    who looks again and again whether something has come is at the end of its file each time, or opens it anew. Or one that it
    makes longer, which is no watched log: what it says there again and again is told by its lines."""
    own = any(each.tid == thread.call.tid and each.moved_in >= AGAIN for each in process.moves)
    moved = (file for file in process.files if file.read_in >= AGAIN and not (file.written and file.path in watch.logs))
    return next(moved, None) if own else None


def _at_pipe(ends: Sequence[OtherEnd]) -> bool:
    return bool(ends) and all(end.object.kind in ("pipe", "fifo") for end in ends)


def _is_taken(watch: Watch, moves: SocketMoves) -> bool:
    """Whether the far end, if it is a process of this machine, reads what lies there."""
    ends = (moves.last.remote, moves.last.local)
    far = (each for process in watch.reading.processes for each in process.sockets if (each.last.local, each.last.remote) == ends)
    return bool(moves.far_taken_in) or any(each.taken_in for each in far)


def _is_taken_at_unix(process: WatchedProcess, ends: Sequence[OtherEnd]) -> bool:
    """Whether the other end of the one connection at which it waits takes what lies there."""
    return len(ends) == 1 and any(each.inode == ends[0].object.inode and each.far_taken_in for each in process.unix)


def _is_given(process: WatchedProcess, thread: ThreadWait, ends: Sequence[OtherEnd]) -> bool:
    """Whether nothing but room or bytes can wake it: the other end of a pipe, or room in a unix socket."""
    is_first = thread.call == process.threads[0].call
    kinds = {end.object.kind for end in ends}
    at_pipe = thread.call.kind in ("read", "write") and kinds <= {"pipe", "fifo"}
    return is_first and len(ends) == 1 and (at_pipe or (thread.call.kind in ("send", "write") and kinds == {"unix"}))


def _sent_lately(watch: Watch, moves: SocketMoves) -> bool:
    """Whether data of a transfer left late in the silence. The kernel of a slow reader opens its window seldom: it waits until a
    sixteenth of its buffer is free (`__tcp_select_window` in net/ipv4/tcp_output.c), for a reader of some kB/s more than a
    minute. And a reader works on its last piece, or on the answer, when no byte is left. A heartbeat's segments are small."""
    row = moves.last
    fills = (row.acked_bytes or 0) > SMALLEST_FULL_BYTES * max(1, row.segments_out or 0)
    sent_ms = row.last_sent_ms
    return (moves.always_unsent or fills) and sent_ms is not None and sent_ms / 1000 < LATE_PART * watch.silence_s


def _transfer(watch: Watch, moves: SocketMoves) -> Movement | None:
    if windows_sent(moves) >= AGAIN:
        return _sends(watch, moves)
    return _comes(watch, moves) if moves.full and moves.received_in >= watch.reading.windows - 1 else None


def _sends(watch: Watch, moves: SocketMoves) -> Movement:
    return Movement(f"sends to {moves.last.remote}", _figures(watch, moves.acked_bytes))


def _comes(watch: Watch, moves: SocketMoves) -> Movement:
    return Movement(f"receives from {moves.last.remote}", _figures(watch, moves.received_bytes))


def _figures(watch: Watch, count: int) -> str:
    return f"{size(count)} in {watch.reading.seconds:.0f} s" if count else ""
