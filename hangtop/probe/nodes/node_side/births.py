"""What the targets start while they are being ended. Proof of descent is a parent that still lives when it is read, or a session
or process group that only targets were in; what only runs the same command under the same starter is named, and never ended."""

from __future__ import annotations

import os
import threading
from typing import Any

from hangtop.probe.nodes.node_side.proc import as_text, read, stat_of

PATIENCE_S = 0.25
Identity = tuple[int, int]
GROUP, SESSION, KERNEL, START = 2, 3, 5, 6
"""Places in the first part of `stat_of`."""


class Births:
    """Made before the first signal. `newest`: start of the youngest process that was known when the plan was made: a child
    that is older was left alone on purpose."""

    def __init__(self, targets: list[Identity], newest: int) -> None:
        stats = all_stats()
        self.kin = {each for each in targets if each in {(pid, who[START]) for pid, who in stats.items()}}
        self.seen = {(pid, who[START]) for pid, who in stats.items()}
        self.born: dict[Identity, str] = {}
        self.commands = {command for pid, _ in self.kin for command in [command_of(pid)] if command}
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
                elif who[1] in self.starters and command_of(pid) in self.commands:
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
        rows = []
        for (pid, start), why in sorted(found.items(), key=lambda each: -each[0][1]):
            known = stat_of(pid)
            if known is not None and known[0][START] == start and known[1][0] not in "ZX":
                rows.append([pid, start, why, command_of(pid), known[1][0]])
        return rows


def all_stats() -> dict[int, list[Any]]:
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return {pid: known[0] for pid in pids for known in [stat_of(pid)] if known is not None}


def command_of(pid: int) -> str:
    """Empty where the kernel does not give it in time: that read may wait for a process that is stuck (moby#15204)."""
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(read(f"/proc/{pid}/cmdline")), daemon=True)
    reader.start()
    reader.join(PATIENCE_S)
    return as_text(found[0].rstrip(b"\0").replace(b"\0", b" "))[:400] if found else ""
