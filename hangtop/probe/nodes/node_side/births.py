"""What the targets start while they are being ended. Proof of descent is a parent that still lives when it is read, or a session
or process group that only targets were in; what only runs the same command under the same starter is named, and never ended."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from hangtop.probe.nodes.node_side.proc import as_text, read, stat_of

PATIENCE_S, READERS = 1.0, 16
"""For the command lines of all processes together."""
Identity = tuple[int, int]
GROUP, SESSION, KERNEL, START = 2, 3, 5, 6
"""Places in the first part of `stat_of`."""


class Births:
    """Made before the first signal. `newest`: start of the youngest process that was known when the plan was made: a child
    that is older was left alone on purpose."""

    def __init__(self, targets: list[Identity], newest: int) -> None:
        stats = all_stats()
        self.seen = {(pid, who[START]) for pid, who in stats.items()}
        self.kin = self.seen.intersection(targets)
        self.born: dict[Identity, str] = {}
        self.commands = {command for command in commands_of(pid for pid, _ in self.kin).values() if command}
        self.starters = {stats[pid][1] for pid, _ in self.kin} - {pid for pid, _ in self.kin} - {0}
        self.again: dict[Identity, str] = {}
        others = [who for pid, who in stats.items() if (pid, who[START]) not in self.kin]
        self.alone = {
            place: {stats[pid][place] for pid, _ in self.kin} - {who[place] for who in others} - {0, 1}
            for place in (GROUP, SESSION)
        }
        grew = True
        while grew:  # what came between the plan and now
            young = [(pid, who) for pid, who in stats.items() if who[START] > newest and (pid, who[START]) not in self.kin]
            found = [(pid, who[START]) for pid, who in young if any(who[1] == parent for parent, _ in self.kin)]
            self.born.update((each, "it was started after the plan was made") for each in found)
            self.kin.update(found)
            grew = bool(found)

    def look(self) -> None:
        stats = all_stats()
        beside = [pid for pid, who in stats.items() if (pid, who[START]) not in self.seen and who[1] in self.starters]
        commands = commands_of(beside)
        grew = True
        while grew:
            grew = False
            for pid, who in sorted(stats.items(), key=lambda each: each[1][START]):
                each = (pid, who[START])
                if each in self.kin or (each in self.seen and each not in self.again) or who[KERNEL]:
                    continue
                why = self.proof(who, stats)
                if why is not None:
                    self.born[each] = why
                    self.kin.add(each)
                    self.again.pop(each, None)
                    grew = True
                elif commands.get(pid) in self.commands:
                    self.again[each] = f"pid {who[1]} restarts it"
        for place, known in self.alone.items():  # a number is lost once a stranger leads it
            known.difference_update(
                {pid for pid, who in stats.items() if who[place] == pid and (pid, who[START]) not in self.kin}
            )
            known.intersection_update({who[place] for who in stats.values()})
        self.seen.update((pid, who[START]) for pid, who in stats.items())

    def proof(self, who: list[Any], stats: dict[int, list[Any]]) -> str | None:
        """Why this newcomer is of the run. Its parent is read again after it: so its pid was not used anew."""
        parent = stats.get(who[1])
        if parent is not None and (who[1], parent[START]) in self.kin and parent[START] <= who[START]:
            again = stat_of(who[1])
            if again is not None and again[0][START] == parent[START]:
                return f"pid {who[1]} started it"
        for place, what in ((SESSION, "session"), (GROUP, "process group")):
            if who[place] in self.alone[place]:
                return f"it is in {what} {who[place]}, which is the run's alone"
        return None

    def told(self, found: dict[Identity, str]) -> list[list[Any]]:
        """[pid, start, why, command, state] of those that live, the youngest first."""
        states = {each: state_of(*each) for each in found}
        living = sorted((each for each, state in states.items() if state not in "ZX"), key=lambda each: -each[1])
        commands = commands_of(pid for pid, _ in living)
        return [[pid, start, found[pid, start], commands.get(pid, ""), states[pid, start]] for pid, start in living]


def all_stats() -> dict[int, list[Any]]:
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return {pid: known[0] for pid in pids for known in [stat_of(pid)] if known is not None}


def state_of(pid: int, start: int) -> str:
    """The letter of this very process; X once it is gone."""
    known = stat_of(pid)
    return str(known[1][0]) if known is not None and known[0][START] == start else "X"


def commands_of(pids: Iterable[int]) -> dict[int, str]:
    """Without those that the kernel does not give in time: that read may wait for a process that is stuck (moby#15204)."""
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    wanted = list(pids)
    for pid in wanted:
        todo.put(pid)
    found: dict[int, str] = {}

    def work() -> None:
        with suppress(queue.Empty):
            while True:
                pid = todo.get_nowait()
                found[pid] = as_text(read(f"/proc/{pid}/cmdline").rstrip(b"\0").replace(b"\0", b" "))[:400]

    readers = [threading.Thread(target=work, daemon=True) for _ in range(min(READERS, len(wanted)))]
    for reader in readers:
        reader.start()
    until = time.monotonic() + PATIENCE_S
    for reader in readers:
        reader.join(max(0.0, until - time.monotonic()))
    return found.copy()
