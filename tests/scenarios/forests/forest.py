"""Forests of processes drawn by chance: a run of every shape, and a machine full of innocents that look like it. Pure."""

from __future__ import annotations

import random
from typing import Any

Node = dict[str, Any]

OTHER_USER = 23_001
WAYS = ("willing", "willing", "willing", "ignores", "forks", "forks twice", "forks setsid", "forks setsid twice", "forks many",
        "forks stays", "forks lingers", "forks hydra", "forks stubborn", "forks exec", "forks setsid exec", "forks twice lingers",
        "forks setsid twice silent lingers", "forks setsid stubborn", "headless")  # fmt: skip
LAUNCHERS = ("willing", "ignores", "ignores restarts", "ignores restarts", "willing restarts", "forks", "forks restarts stays")
INNOCENTS = ("willing", "willing", "willing", "breeds")
NAMES = ("train.py", "train_other.py", "torchrun", "my_monitor.py")


TERMINALS = (None, None, "jobs", "script", "tee")
"""How the run was started: by a program, or by a person's shell, whose own output goes to the log by script(1) or by tee(1)."""


class Forest:
    """`nodes` by number, parents before children; `tops`: those that pid 1 starts itself; `typed`: jobs of a person's shell."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.terminal: str | None = None
        self.shell: Node | None = None
        self.nodes: list[Node] = []
        self.tops: list[int] = []
        self.typed: list[int] = []
        self.port = 29_500
        self._size = self.chance.randrange(20, 61)
        self._run()
        while len(self.nodes) < self._size:
            self._innocent()

    def add(self, kind: str, program: str, parent: Node | None, way: str = "willing", **more: Any) -> Node:
        node: Node = {
            "number": len(self.nodes), "kind": kind, "program": program, "words": [], "way": way, "environ": {}, "user": None,
            "session": False, "group": False, "output": None, "relay": None, "opens": [], "children": [], **more,
        }  # fmt: skip
        self.nodes.append(node)
        by_person = parent is not None and parent is self.shell and self.terminal
        (self.typed if by_person else self.tops if parent is None else parent["children"]).append(node["number"])
        return node

    def _run(self) -> None:
        """A terminal or script that is no part of it, perhaps a watchdog, a launcher, its ranks, their workers."""
        chance = self.chance
        self.terminal = chance.choice(TERMINALS)
        self.shell = above = self.add("innocent", "my_monitor.py", None, session=True)
        if chance.random() < 0.2 and self.terminal not in ("script", "tee"):  # there it would write the log, and be of the run
            above = self.add("innocent", "my_monitor.py", above, "restarts", words=["watchdog"])
        output = (
            {}
            if self.terminal in ("script", "tee")
            else {"relay": "train.log"}
            if chance.random() < 0.3
            else {"output": "train.log"}
        )
        launcher = self.add(
            "member", chance.choice(["torchrun", "train.py"]), above, chance.choice(LAUNCHERS), **output,
            session=chance.random() < 0.4, group=chance.random() < 0.4, words=["--nproc", "8"],
        )  # fmt: skip
        apart = chance.random() < 0.3
        for rank in range(chance.randrange(1, 9)):
            self._rank(launcher, rank, apart)

    def _rank(self, launcher: Node, rank: int, apart: bool) -> None:
        chance = self.chance
        place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "8", "MASTER_PORT": str(self.port)}
        if chance.random() < 0.08:
            self.add("foreign", "train.py", launcher, environ=place, user=OTHER_USER, session=apart)
            return
        node = self.add(
            "member", "train.py", launcher, chance.choice(WAYS), environ=place, words=["--rank", str(rank)], session=apart
        )
        for _ in range(chance.choice([0, 0, 1, 3])):
            self.add("member", "train.py", node, chance.choice(WAYS), words=["--worker"], session=chance.random() < 0.1)
        if chance.random() < 0.1:
            self.add("member", "train.py", node, "daemon", opens=[("train.log", "a")])

    def _innocent(self) -> None:
        """Alone, in the terminal of the run, or a second run beside it; names, words, folder and variables like the run's."""
        chance = self.chance
        beside = self.terminal not in ("script", "tee")  # there the jobs of the shell would write the log, too
        parent = self.shell if beside and chance.random() < 0.4 else None
        place = {"RANK": "0", "MASTER_PORT": str(self.port)} if chance.random() < 0.3 else {}
        opens = chance.choice([[], [("train.log", "r")], [("train2.log", "a")], [("train.log.1", "a")]])
        words = chance.choice([["--rank", "0"], ["--log", "train.log"], ["--nproc", "8"], []])
        node = self.add(
            "innocent", chance.choice(NAMES), parent, chance.choice(INNOCENTS), environ=place, opens=opens, words=words,
            session=parent is None or chance.random() < 0.3, output=chance.choice([None, "train2.log"]),
            user=OTHER_USER if chance.random() < 0.05 and not (parent and self.terminal) else None,
        )  # fmt: skip
        if not node["user"] and chance.random() < 0.2:
            for rank in range(2):
                self.add("innocent", "train.py", node, environ={"RANK": str(rank)}, words=["--rank", str(rank)])
