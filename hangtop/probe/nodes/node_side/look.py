"""The processes of a node: which belong to a run, and the rows of them that changed."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import Any

from hangtop.probe.nodes.node_side.parts import outputs_of
from hangtop.probe.nodes.node_side.proc import TICKS_PER_S, boot_at, details_of, facts_of, files_of, stat_of
from hangtop.probe.nodes.node_side.reader import Reader
from hangtop.system.processes.batch_shell import innermost

ALL_EVERY = 15
"""Every so many looks the whole table is read: parents change seldom."""
SELDOM = 5
"""Every so many looks: what is below a rank (data workers, compilers), and open files."""
YOUNG_S = 5.0
"""A fork has its parent's environment until it becomes another program."""
Say = Callable[[dict[str, Any]], None]


class Node:
    """The processes of this node, and what of them was told already."""

    def __init__(self, look: dict[str, Any], say: Say) -> None:
        self.ranks, self.kept = look["ranks"], look["kept"]
        self.launchers = re.compile(look.get("launchers", "(?!)"))
        self.logs, self.say = frozenset(look["logs"]), say
        self.stats: dict[int, tuple[list[Any], list[Any]]] = {}
        self.told: dict[int, dict[str, Any]] = {}
        self.looks = 0
        self.outputs: set[str] = set()
        """The files to which ranks here were seen to print."""
        self.facts = Reader(self.read_slowly)
        self.boot_at = boot_at()
        self.own = set(self.above(os.getpid())) | {os.getpid()}

    def read_slowly(self, pid: int) -> tuple[int | None, dict[str, Any], list[list[Any]], list[list[Any]]]:
        """Its start ticks, its facts, its open files and, of a rank, its output files. A process shows neither arguments nor
        environment while it is being started or ends (proc(5)), nor do we read any without descriptors: it keeps those that it
        had."""
        known = stat_of(pid)
        start, facts = known[0][6] if known else None, facts_of(pid, self.kept)
        before = self.facts.answers.get(pid)
        if not facts["command"] and before is not None and before[0] == start:
            facts = before[1]
        outputs = outputs_of(pid, self.logs) if innermost(facts["environ"], self.ranks) is not None else []
        return start, facts, files_of(pid, self.logs), outputs

    def above(self, pid: int) -> list[int]:
        line: list[int] = []
        while pid > 0 and pid not in line:
            line.append(pid)
            known = self.stats.get(pid) or stat_of(pid)
            pid = known[0][1] if known else 0
        return line[1:]

    def look(self) -> None:
        now, everything, seldom = time.time(), self.looks % ALL_EVERY == 0, self.looks % SELDOM == 0
        self.looks += 1
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        due = {pid for pid in pids if everything or pid not in self.stats or pid in self.told}
        self.facts.forget_but(pids)
        fresh = {pid: known for pid in due for known in [stat_of(pid)] if known is not None}
        self.stats = {pid: known for pid, known in self.stats.items() if pid in pids and pid not in due}
        self.stats.update(fresh)
        for pid, (who, _) in self.stats.items():
            known = self.facts.answers.get(pid)
            young = now - self.boot_at - who[6] / TICKS_PER_S < YOUNG_S
            if not who[5] and (known is None or known[0] != who[6] or young or (seldom and pid in self.told)):
                self.facts.want(pid)
        followed = self.followed()
        rows = {}
        for pid in followed:
            below = followed[pid] and not seldom and self.stats[pid][1][0] not in "DTt" and pid in self.told
            row = self.told[pid] if below else self.row(pid)
            changed = {key: value for key, value in row.items() if self.told.get(pid, {}).get(key) != value}
            if changed:
                rows[pid] = changed
            self.told[pid] = row
        gone = [pid for pid in self.told if pid not in followed]
        self.told = {pid: row for pid, row in self.told.items() if pid in followed}
        self.say({"at": now, "rows": rows, "gone": gone})

    def known(self, pid: int) -> Any:
        """Its facts, if they are of this process and not of an earlier one of that pid."""
        answer = self.facts.answers.get(pid)
        return answer if answer is not None and answer[0] == self.stats[pid][0][6] else None

    def followed(self) -> dict[int, bool]:
        """Pids by whether each is below a rank: processes that have a rank's number, hold a log, are below or above of such."""
        children: dict[int, list[int]] = {}
        for pid, (who, _) in self.stats.items():
            children.setdefault(who[1], []).append(pid)
        ranks = {pid: rank for pid in self.stats for rank in [self.rank_of(pid)] if rank is not None}
        numbered = set(ranks)
        tops = {pid for pid in numbered if ranks[pid] != ranks.get(self.stats[pid][0][1])}
        roots = (
            numbered
            | {pid for pid in self.stats if self.is_launcher(pid)}
            | {pid for pid in self.stats if (known := self.known(pid)) and any(f[1] in self.logs for f in known[2])}
        )
        found: dict[int, bool] = {}
        stack = sorted(roots)
        while stack:
            pid = stack.pop()
            if pid not in found:
                found[pid] = pid not in tops and pid in numbered
                stack.extend(children.get(pid, ()))
        for pid in sorted(roots):
            for parent in self.above(pid):
                found.setdefault(parent, False)
        return {pid: found[pid] for pid in found if pid in self.stats and (pid not in self.own or pid in numbered)}

    def has_ranks(self) -> bool:
        """Asked by another thread."""
        return bool(self.told)

    def rank_of(self, pid: int) -> tuple[str, str] | None:
        """What numbers it: what a rank starts has the same, what starts ranks (`srun torchrun`) another one."""
        known = self.known(pid)
        return None if known is None else innermost(known[1]["environ"], self.ranks)

    def is_launcher(self, pid: int) -> bool:
        """By its first words; whether it is one, and of this run, the other side tells."""
        known = self.known(pid)
        return known is not None and any(self.launchers.search(word) for word in known[1]["command"][:4])

    def row(self, pid: int) -> dict[str, Any]:
        who, now = self.stats[pid]
        known = self.known(pid)
        row = {"who": who, "now": now, "details": details_of(pid) if now[0] not in "ZX" else None}
        if known is None:
            return row
        self.outputs.update(path for path, _ in known[3])
        return dict(row, facts=known[1], files=known[2], **({"outputs": known[3]} if known[3] else {}))
