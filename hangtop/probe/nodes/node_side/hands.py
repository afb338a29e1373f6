"""Does what a plan says, one order at a time: hold these processes, signal these, who lives, start this again. It decides
nothing: whoever gives the orders has written each into its log before. When the pipe closes, no further signal is sent."""

from __future__ import annotations

import os
import queue
import socket
import time
from typing import Any

from hangtop.probe.nodes.node_side.births import Births
from hangtop.probe.nodes.node_side.claims import Claimed, claim
from hangtop.probe.nodes.node_side.held import HeldProcess, NotSignalled, is_alive
from hangtop.probe.nodes.node_side.intruders import Before
from hangtop.probe.nodes.node_side.launch import Kept
from hangtop.probe.nodes.node_side.pipe import say
from hangtop.probe.nodes.node_side.proc import fields, link, read, stat_of
from hangtop.probe.nodes.node_side.removals import remove

LOOK_EVERY_S = 0.02


def obey(who: dict[str, Any], asks: queue.Queue[dict[str, Any]]) -> None:
    """Until the pipe closes. `who`: which machine the plan was made for; another one does nothing."""
    hands = Hands()
    there = {"boot": read("/proc/sys/kernel/random/boot_id").decode().strip(), "pids": link("/proc/self/ns/pid")}
    same = all(who[name] == there[name] for name in there) and who["uid"] == os.geteuid()
    while True:
        try:
            ask = asks.get(timeout=LOOK_EVERY_S)
        except queue.Empty:
            hands.look()
            continue
        order = ask.pop("order")
        if same:
            say(dict(getattr(hands, "do_" + order)(**ask), done=order))
        else:
            say({"done": order, "error": "another machine, or another user, answers by this name now: make the plan anew"})


class Hands:
    def __init__(self) -> None:
        self.held: dict[int, HeldProcess] = {}
        self.births = Births([], 0)
        self.kept: dict[int, tuple[Kept, Before]] = {}
        self.claims: list[socket.socket] = []
        self.own = frozenset(own_pids())

    def look(self) -> None:
        """Reads the whole table, so only while there is something to end."""
        if self.births.kin:
            self.births.look()

    def do_hold(self, targets: list[list[int]], newest: int) -> dict[str, Any]:
        """Take hold of the targets, before the first signal, as long as the line lasts. The answer has those that may not be
        signalled, each with why."""
        try:
            self.claims = claim([(pid, start) for pid, start in targets])
        except Claimed as held:
            return {"error": str(held)}
        refused = self.take(targets)
        self.births = Births([(pid, start) for pid, start in targets if pid in self.held], newest)
        return {"refused": refused}

    def do_hold_born(self, targets: list[list[int]]) -> dict[str, Any]:
        """The same of what the targets have started: only what is proven to be so."""
        proven = [[pid, start] for pid, start in targets if (pid, start) in self.births.born]
        return {"refused": self.take(proven)}

    def take(self, targets: list[list[int]]) -> dict[int, str]:
        refused: dict[int, str] = {}
        for pid, start in targets:
            try:
                self.held[pid] = HeldProcess(pid, start, self.own)
            except NotSignalled as reason:
                refused[pid] = str(reason)
        return refused

    def do_signal(self, pids: list[int], number: int) -> dict[str, Any]:
        """In this order, as fast as can be: a launcher has no time to start a rank again."""
        refused: dict[int, str] = {}
        for pid in pids:
            try:
                self.held[pid].send(number)
            except NotSignalled as reason:
                refused[pid] = str(reason)
        self.births.look()
        return {"refused": refused}

    def do_living(self) -> dict[str, Any]:
        """The held ones that live; the living that they started; and who runs the same commands anew without proof."""
        self.births.look()
        alive = [pid for pid, process in self.held.items() if process.lives]
        return {"alive": alive, "born": self.births.told(self.births.born), "again": self.births.told(self.births.again)}

    def do_check(self, targets: list[list[int]]) -> dict[str, Any]:
        """Which of these very processes live, and why no signal ended them; which are zombies, and of whom."""
        alive, zombies = {}, {}
        for pid, start in targets:
            known = stat_of(pid)
            if known is not None and known[0][6] == start and known[1][0] == "Z":
                zombies[pid] = known[0][1]
            if is_alive(pid, start):
                alive[pid] = why_alive(pid)
        return {"alive": alive, "zombies": zombies}

    def do_keep(self, pid: int, start: int, argv: list[str], output: str) -> dict[str, Any]:
        """Keep how this was started, while it lives; it must be as the plan shows it."""
        try:
            before = Before(pid, output)
            kept = Kept(pid, start)
        except OSError as error:
            return {"error": error.strerror or str(error)}
        if kept.argv != argv:
            return {"error": "its command line is another one than in the plan"}
        self.kept[pid] = kept, before
        return {}

    def do_remove(self, rules: dict[str, Any], older_s: float, removals: list[dict[str, Any]], trash: str) -> dict[str, Any]:
        """Remove these leftovers, as far as they are still what the plan shows."""
        return remove(rules, older_s, removals, trash)

    def do_start(self, pid: int, argv: list[str], cwd: str, output: str, set_env: dict[str, str]) -> dict[str, Any]:
        """Start again what this pid was."""
        if pid not in self.kept:
            return {"error": "what was kept to start it again went with the line over which it was asked for"}
        kept, before = self.kept[pid]
        if (why := before.intruder(self.births.kin)) is not None:
            return {"error": why}
        try:
            began = kept.start(argv, cwd, output, set_env)
        except OSError as error:
            return {"error": f"{error.filename}: {error.strerror}" if error.filename else str(error)}
        time.sleep(1.0)  # a command that cannot run ends within this time
        return {"pid": began[0], "start": began[1], "lives": is_alive(*began)}


def own_pids() -> list[int]:
    """This program, and what it runs in."""
    line, pid = [], os.getpid()
    while pid > 0 and pid not in line:
        line.append(pid)
        known = stat_of(pid)
        pid = known[0][1] if known else 0
    return line


def why_alive(pid: int) -> str:
    """Why no signal ended it."""
    known, status = stat_of(pid), fields(read(f"/proc/{pid}/status"))
    state = known[1][0] if known else "?"
    if status.get("Uid", "").split()[1:2] != [str(os.geteuid())]:
        return "it belongs to another user: only they or root can end it"
    if state == "D":
        where = read(f"/proc/{pid}/wchan").decode("ascii", "replace")
        inside = f" in {where}" if where.strip("0") else ""
        return f"blocked in the kernel{inside}, no signal reaches it: its mount or GPU must answer, else only a reboot ends it"
    tracer = status.get("TracerPid", "0")
    return f"a debugger holds it: end pid {tracer}" if tracer != "0" else f"it lives, in state {state}"
