"""The source "waits": what processes wait for, who could end that, and what moves meanwhile. Looks only when it is asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from hangtop.probe.context import ProbeContext
from hangtop.probe.nodes.node_waits import Ends, FarWaits, with_far_ends
from hangtop.probe.processes.shell_loops import CountedShells
from hangtop.probe.source import Absent, Source
from hangtop.probe.waits.companions import companions
from hangtop.probe.waits.continuers import Continuers
from hangtop.probe.waits.neighbours import neighbours
from hangtop.probe.waits.pollers import Pollers, Polling
from hangtop.probe.waits.read_files import file_reads
from hangtop.probe.waits.samples import Moment, Sampler
from hangtop.probe.waits.surroundings import Around, Surroundings
from hangtop.probe.waits.windows import (
    busy_in,
    changed_in,
    main_s,
    samples_of,
    socket_moves,
    thread_moves,
    unix_moves,
    woken_in,
)
from hangtop.records.ask import WaitsAsk
from hangtop.records.reading import Value
from hangtop.records.waiting import OtherEnd, TcpSocket, ThreadWait, outer_ends, port_of
from hangtop.records.watched_waits import AGAIN, SocketMoves, WaitsReading, WatchedProcess, windows_sent
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import ProcessTable

WINDOW_S = 0.7
WINDOWS = 4
"""As long together as two looks at the stacks take."""
MOST_WINDOWS = 14
"""Where something moved once, or not long ago."""
QUEUE_WINDOWS = 34
"""Where bytes wait to be sent, or lie unread at the other end. Readers take 8 kB at once (`io.DEFAULT_BUFFER_SIZE`), whatever
their programs ask for: at 0.5 kB/s every 16 s."""
REMEMBERED_S = 60.0
COUNTED_THREADS = 8
SOCKETS_TOLD = 16
PROBE = "-m hangtop.probe"
NO_POLLING = Polling((), 0.0)


class WaitSource(Source):
    """Answers `WaitsAsk`."""

    def __init__(self, context: ProbeContext, table: ProcessTable | None = None) -> None:
        self._context = context
        self._table = table or open_table()
        self._surroundings = Surroundings(self._table)
        self._continuers = Continuers(self._table)
        self._counted_shells = CountedShells(self._table)
        self._sampler = Sampler()
        self._pollers = Pollers()
        self._last: Moment | None = None

    def read(self, now: float) -> tuple[()]:
        """Nothing by itself."""
        if sys.platform != "linux":
            raise Absent("only Linux tells what processes wait for")
        return ()

    def answer(self, ask: WaitsAsk, now: float) -> Iterator[Value]:
        """After `WINDOWS` windows, and after more of them where these leave a doubt."""
        began = time.monotonic()
        self._table.refresh(self._table.stats.keys())
        beside = companions(self._table, ask.pids)
        near = neighbours(self._table, ask.pids, beside)
        above = tuple(_above_stopped(self._table, ask.pids))
        continuers = self._continuers.find(ask.pids, (*beside, *near, *above))
        around = self._surroundings.look(tuple(dict.fromkeys((*ask.pids, *beside, *near, *above))))
        counted_out = self._counted_shells.find(around.threads)
        inodes, unix = _inodes(around), _unix_inodes(around)
        counted = {pid: _counted(pid, threads) for pid, threads in around.threads.items()}
        members = frozenset(row.local for pid in ask.pids for row in around.sockets.get(pid, ()))
        moments: list[Moment] = []
        self._pollers.begin(around.threads)
        away = {(end.object.local, end.object.remote) for threads in around.threads.values() for end in _away(threads)}
        far = FarWaits(self._context.nodes, ask.ask, away, WINDOWS + 1, WINDOW_S, ask.elsewhere)
        while True:
            at = time.monotonic()
            moments.append(self._sampler.take(at, counted, inodes, unix))
            windows = len(moments) - 1
            if windows >= WINDOWS:
                polling = self._pollers.since()
                told = tuple(self._watched(pid, around, moments, polling.get(pid, NO_POLLING)) for pid in around.threads)
                told = tuple(replace(each, counted=True) if each.pid in counted_out else each for each in told)
                may_live = self._of_the_run(told)
                is_open = windows < MOST_WINDOWS and any(is_doubtful(each) for each in may_live)
                is_open = is_open or (windows < QUEUE_WINDOWS and any(is_queued(each, members, ask.pids) for each in may_live))
                done = not is_open and not far.is_open
                told = with_far_ends(told, far.answers(), _by_ends(around, moments[-1]))
                asked = (*ask.pids, *ask.elsewhere)
                seconds = round(at - began, 2)
                yield WaitsReading(
                    ask.ask, now, asked, told, windows, seconds, around.hidden, done, around.note, beside, near, continuers
                )
                if done:
                    far.close()
                    self._last = moments[-1]
                    return
            time.sleep(max(0.0, moments[0].at + len(moments) * WINDOW_S - time.monotonic()))

    def _of_the_run(self, told: Sequence[WatchedProcess]) -> tuple[WatchedProcess, ...]:
        """Without Ray's own daemons, at the other ends of all its workers, and without probes of hangtop, which ask them: all of
        these talk for as long as they live, which is no life of the run."""
        daemons = {(identity.pid, identity.start_ticks) for identity in self._context.ray_daemons}
        return tuple(each for each in told if PROBE not in each.command and (each.pid, each.start_ticks) not in daemons)

    def _before(self, at: float) -> Moment | None:
        """The end of the watch before this one, if that was not long ago: what moved since is a window too."""
        return self._last if self._last is not None and at - self._last.at < REMEMBERED_S else None

    def _watched(self, pid: int, around: Around, moments: Sequence[Moment], polling: Polling) -> WatchedProcess:
        threads = around.threads[pid]
        stat = self._table.stats[pid]
        known = WatchedProcess(
            pid,
            stat.start_ticks,
            "X",
            stat.name,
            around.commands.get(pid, ""),
            around.users.get(pid),
            threads,
            pid in around.complete,
        )
        samples = samples_of(moments, pid)
        if pid not in moments[-1].processes or samples[-1][1].start_ticks != stat.start_ticks:
            return known
        ticks = samples[-1][1].cpu_ticks - samples[0][1].cpu_ticks
        waited = {end.object.inode for thread in threads for end in thread.ends if end.object.kind == "tcp"}
        held = [row.inode for row in around.sockets.get(pid, ()) if row.state != "listen"]
        moves = socket_moves(self._before(moments[0].at), moments, dict.fromkeys(held))
        telling = [each for each in moves if each.last.inode in waited or _tells(each)]
        at_unix = (end.object.inode for thread in threads for end in thread.ends if end.object.kind == "unix")
        changed = changed_in(samples)
        return WatchedProcess(
            pid=pid,
            start_ticks=known.start_ticks,
            state=samples[-1][1].state,
            name=known.name,
            command=known.command,
            user=known.user,
            threads=threads,
            complete=known.complete,
            stood=changed == 0,
            changed_in=changed,
            cpu_s=round(ticks / self._table.ticks_per_s, 2),
            main_s=None if (ran := main_s(samples)) is None else round(ran, 4),
            busy_in=busy_in(samples, self._table.ticks_per_s, polling.seconds),
            moves=thread_moves(samples),
            listens=tuple({port_of(row.local): None for row in around.sockets.get(pid, ()) if row.state == "listen"}),
            sockets=tuple(sorted(telling, key=lambda each: each.last.inode not in waited)[:SOCKETS_TOLD]),
            unix=unix_moves(moments, dict.fromkeys(inode for inode in at_unix if inode))[:SOCKETS_TOLD],
            woken_in=woken_in(samples),
            polls=polling.tids,
            polled_s=polling.seconds,
            files=file_reads([moment.files[pid] for moment in moments if pid in moment.files]),
            ppid=stat.ppid,
        )


def _away(threads: Sequence[ThreadWait]) -> Iterator[OtherEnd]:
    """What they wait at whose other end is on another machine."""
    return (end for thread in threads for end in thread.ends if end.elsewhere and end.object.remote)


def _by_ends(around: Around, last: Moment) -> dict[Ends, tuple[int, TcpSocket]]:
    """The connections of all that are watched, as the last look saw them, each with its pid."""
    rows = ((pid, last.sockets.get(row.inode, row)) for pid, held in around.sockets.items() for row in held)
    return {(row.local, row.remote): (pid, row) for pid, row in rows if row.state != "listen"}


def _above_stopped(table: ProcessTable, pids: Collection[int]) -> Iterator[int]:
    """The parents of those that are stopped: a parent may have stopped its child, and let it go on later."""
    stats = (table.stats[pid] for pid in pids if pid in table.stats)
    return (stat.ppid for stat in stats if stat.state == "T" and stat.ppid in table.stats and stat.ppid not in pids)


def _tells(moves: SocketMoves) -> bool:
    closed = moves.last.state == "close-wait"
    return closed or bool(moves.received_in or moves.acked_in or moves.taken_in or moves.queued)


def is_doubtful(process: WatchedProcess) -> bool:
    """Whether more windows may show a life that these did not: a thread was seen to move once, or each of the sockets at
    which one waits received once, or not long ago, or a sender waits, and no byte was taken from it yet."""
    is_given = any(thread.call.kind in ("read", "write", "send") for thread in process.threads[:1])
    if any(moves.moved_in == 1 for moves in process.moves) or (is_given and process.woken_in == 1):
        return True
    by_inode = {each.last.inode: each for each in process.sockets}
    waited = [[by_inode.get(end.object.inode or 0) for end in outer_ends(thread)] for thread in process.threads]
    alone = [each for at in waited if len(at) == 1 for each in at if each is not None]
    return any(_may_come(at) for at in waited) or any(each.always_unsent and not each.acked_in for each in alone)


def _may_come(sockets: Sequence[SocketMoves | None]) -> bool:
    """Whether bytes may come at each of these connections, and did not in enough windows yet. One that stays silent beside others
    leaves no doubt."""
    known = [each for each in sockets if each is not None]
    coming = len(known) == len(sockets) > 0 and all(each.received_in or _is_young(each.last.last_received_ms) for each in known)
    return coming and any(each.received_in < AGAIN for each in known)


def is_queued(process: WatchedProcess, members: Collection[str], pids: Collection[int] = ()) -> bool:
    """Whether bytes of a connection wait to be sent or to be taken, and too few windows showed that this goes on. Not those
    before a member, of these addresses or pids: where a run hangs, bytes lie before the one that stands, and its stack tells
    what it does."""
    alone = {end.object.inode for thread in process.threads for end in thread.ends if len(thread.ends) == 1}
    ends = [end for thread in process.threads for end in thread.ends if end.object.kind == "unix"]
    inside = {end.object.inode for end in ends if set(end.pids).intersection(pids)}
    if any(each.far_unread_bytes and not each.far_taken_in and each.inode not in inside for each in process.unix):
        return True
    out = (each for each in process.sockets if each.queued and each.last.remote not in members)
    return any(windows_sent(each) < (1 if each.last.inode in alone else AGAIN) for each in out)


def _is_young(age_ms: int | None) -> bool:
    return age_ms is not None and age_ms < 1000 * MOST_WINDOWS * WINDOW_S


def _counted(pid: int, threads: Sequence[ThreadWait]) -> tuple[int, ...]:
    """The threads of which bytes are counted: the first one, and those that wait at pipes and files."""
    first = threads[0].call.tid if threads else pid
    at_files = (thread.call.tid for thread in threads if thread.call.kind in ("read", "write") or _at_pipe(thread))
    return tuple(dict.fromkeys((first, *at_files)))[:COUNTED_THREADS]


def _at_pipe(thread: ThreadWait) -> bool:
    return any(end.object.kind in ("pipe", "fifo") for end in thread.ends)


def _unix_inodes(around: Around) -> frozenset[int]:
    at = (end.object for threads in around.threads.values() for thread in threads for end in thread.ends)
    return frozenset(each.inode for each in at if each.kind == "unix" and each.inode)


def _inodes(around: Around) -> frozenset[int]:
    return frozenset(row.inode for rows in around.sockets.values() for row in rows if row.state != "listen")
