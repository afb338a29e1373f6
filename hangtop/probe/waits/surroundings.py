"""The processes around some members: who could end their waits, who could end the waits of these, and so on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from msgspec import Struct

from hangtop.common.clean_words import command_line
from hangtop.records.waiting import TcpSocket, ThreadWait, WaitReading
from hangtop.system.guard import Guard
from hangtop.system.processes.table import ProcessTable, Stat
from hangtop.system.processes.users import Users
from hangtop.system.waits.wait_reader import WaitReader

HOPS = 5
MOST_CHOICES = 8
"""An end that more processes hold (the pipe of a pool of workers) leads to none of them."""
MOST_AROUND = 64
MOST_THREADS = 3_000
"""Of all members together, 50 µs each; beyond these, only the first threads are looked at."""


class Around(Struct, frozen=True):
    """`threads`: by pid, what they wait for, the first one first, one of those that are alike. `complete`: pids of which these
    are all. `sockets`: by pid."""

    threads: Mapping[int, tuple[ThreadWait, ...]]
    complete: frozenset[int]
    sockets: Mapping[int, tuple[TcpSocket, ...]]
    commands: Mapping[int, str]
    users: Mapping[int, str]
    hidden: int
    note: str | None


class Surroundings:
    """Remembers only who does not answer."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._reader = WaitReader(table)
        self._words: Guard[int, tuple[str, ...]] = Guard()
        self._users = Users()

    def look(self, pids: Collection[int]) -> Around:
        """The table must be fresh."""
        stats = self._table.stats
        many = sum(stats[pid].threads for pid in pids if pid in stats) > MOST_THREADS
        looks, todo = [], [pid for pid in pids if pid in stats]
        seen = set(todo)
        for hop in range(HOPS):
            if not todo:
                break
            looks.append(self._reader.look(todo, every_thread=hop > 0 or not many))
            todo = [pid for pid in _ends(looks[-1]) if pid not in seen and pid in stats][: MOST_AROUND + len(pids) - len(seen)]
            seen.update(todo)
        return self._joined(looks, {pid: stats[pid] for pid in seen})

    def _joined(self, looks: list[WaitReading], stats: Mapping[int, Stat]) -> Around:
        threads: dict[int, tuple[ThreadWait, ...]] = dict.fromkeys(stats, ())
        sockets: dict[int, tuple[TcpSocket, ...]] = {}
        for look in looks:
            for thread in look.threads:
                threads[thread.call.pid] = (*threads[thread.call.pid], thread)
            sockets |= look.sockets
        words = self._words.known({pid: partial(self._table.command, pid) for pid in stats})
        owners = {pid: self._users.name(self._table.owner(pid)) for pid in stats}
        return Around(
            {pid: unlike(waits) for pid, waits in threads.items()},
            frozenset(pid for look in looks for pid in look.complete),
            sockets,
            {pid: command_line(said) for pid, said in words.items()},
            {pid: user for pid, user in owners.items() if user is not None},
            max((look.hidden for look in looks), default=0),
            next((look.note for look in looks if look.note), None),
        )


def unlike(threads: tuple[ThreadWait, ...]) -> tuple[ThreadWait, ...]:
    """The first thread, and of the others one of each kind of wait: hundreds of threads of a pool wait for the same. Of the ones
    that sleep the youngest: it may have been made for a question."""
    found: dict[object, ThreadWait] = {}
    for thread in sorted(threads[1:], key=lambda thread: -(thread.call.started_ticks or 0)):
        call = thread.call
        at = tuple((end.object.kind, end.object.inode, end.pids, end.known) for end in thread.ends)
        found.setdefault((call.kind, call.state, call.timed, call.unread is None, at), thread)
    return (*threads[:1], *found.values())


def _ends(look: WaitReading) -> Iterable[int]:
    """All processes that could end one of these waits."""
    few = (end.pids for thread in look.threads for end in (*thread.ends, *thread.locked) if len(end.pids) <= MOST_CHOICES)
    return dict.fromkeys(pid for pids in few for pid in pids)
