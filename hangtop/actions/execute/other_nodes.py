"""The part of a plan on other nodes: TERM on all of them at the same time, wait, KILL, look again. What a node runs that does not
answer is not known, and is never taken to be gone."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any

from msgspec.structs import asdict

from hangtop.actions.execute.node_hands import LONGEST_S, NodeHands, NodeLost
from hangtop.actions.execute.steps import CancelFlag, step
from hangtop.actions.prove.verify_terminated import SHOWN, name_of
from hangtop.common import text
from hangtop.common.clean_words import clean_words
from hangtop.probe.http.at_once import run_at_once
from hangtop.probe.leftovers.leftover_places import TRASH
from hangtop.probe.nodes.node_leftovers import RULES
from hangtop.records.nodes import on_node, pid_there
from hangtop.records.plan import NodePart, Plan, Removal, Start, Step, Target

Told = dict[str, Any]
AT_ONCE, SPARE_S = 64, 5.0
KILL_WAIT_S = 5.0
REMOVE_S = 30.0
"""To look twice at what all processes of a node hold."""
LOOK_EVERY_S = 0.2
ROUNDS = 5
"""As for the processes of this machine (`hangtop.actions.execute.terminate`)."""


class FarNode:
    """One node while a plan is carried out. `lost`: why it cannot be told what became of it."""

    def __init__(self, part: NodePart) -> None:
        self.part, self.hands = part, NodeHands(part.host, part.known)
        self.lost = ""
        self.left: dict[int, Target] = {}
        """By pid there: those that are to end and have not."""

    def target_line(self, target: Target) -> list[int]:
        return [pid_there(target.pid), target.start_ticks]

    def named(self, target: Target) -> str:
        return f"pid {pid_there(target.pid)} on {self.part.host} {name_of(target)}"


class OtherNodes:
    """Call `begin`, `term`, `finish`, `remove`, `start` in this order, and `close` in the end."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._nodes = [FarNode(part) for part in plan.elsewhere]
        self._termed_at = 0.0

    @property
    def end_with_us(self) -> bool:
        """Whether a line is a step of a job of Slurm, which an `srun` here may hold (`hangtop.cli.nodes`)."""
        return any(node.part.known.launcher.startswith("srun ") for node in self._nodes)

    def begin(self) -> Generator[Step, None, bool]:
        """Reach all nodes and take hold of the targets. Returns whether all answer, and what is to start again can be kept."""
        if not self._nodes:
            return True
        yield step("doing", f"reaching {', '.join(node.part.host for node in self._nodes)}")
        answers = self._ask(_hold)
        for node, told in answers:
            if told is None:
                yield step("failed", f"{node.lost}; nothing was done there")
                continue
            refused = _by_pid(told, "refused")
            for target in node.part.targets:
                pid = pid_there(target.pid)
                if pid in refused:
                    yield step("skipped", f"{node.named(target)}: {refused[pid]}", target)
                else:
                    node.left[pid] = target
        return not any(node.lost for node in self._nodes)

    def term(self, halt: CancelFlag) -> Iterator[Step]:
        """TERM to all at once."""
        self._termed_at = time.monotonic()
        yield from self._signal(signal.SIGTERM, halt)

    def finish(self, halt: CancelFlag) -> Generator[Step, None, bool]:
        """Wait, KILL, end what they started meanwhile, and prove it. Returns whether all of it is gone on all nodes."""
        yield from self._await(self._termed_at + self._plan.grace_s, halt)
        yield from self._signal(signal.SIGKILL, halt)
        yield from self._await(time.monotonic() + KILL_WAIT_S, halt)
        for number in range(ROUNDS):
            if halt.asked or not (yield from self._take_born()):
                break
            if number == 0:
                yield from self._signal(signal.SIGTERM, halt)
                yield from self._await(time.monotonic() + self._plan.grace_s, halt)
            yield from self._signal(signal.SIGKILL, halt)
            yield from self._await(time.monotonic() + KILL_WAIT_S, halt)
        gone = yield from self._prove()
        yield from self._unseen()
        return gone

    def remove(self, halt: CancelFlag) -> Iterator[Step]:
        """Remove what the plan names, on all nodes at once."""
        nodes = [node for node in self._nodes if node.part.removals]
        if not nodes:
            return
        if halt():
            yield from (
                step("skipped", f"{each.path} on {node.part.host} stays") for node in nodes for each in node.part.removals
            )
            return
        trash = f"{TRASH}{os.getpid()}-{os.urandom(4).hex()}"
        aims = [(node.part.host, each.path) for node in nodes for each in node.part.removals if not node.lost]
        for host, path in aims:
            aside = os.path.join(os.path.dirname(path), trash)
            yield step("doing", f"{path} on {host} is moved to {aside}, and then deleted")
        told = {node.part.host: told for node, told in self._ask(partial(_remove, self._plan.older_s, trash))}
        for node in nodes:
            yield from self._removed(node, told.get(node.part.host))

    def _removed(self, node: FarNode, told: Told | None) -> Iterator[Step]:
        host, paths = node.part.host, {each.path: each for each in node.part.removals}
        if told is None:
            yield step("survived", f"{text.some(len(paths), 'path')} of the plan may be on {host} still: {node.lost}")
            return
        gone: list[Removal] = []
        for kind, path, what in ((str(kind), str(path), str(what)) for kind, path, what in told["told"] if path in paths):
            if kind == "done":
                gone.append(paths[path])
            else:
                yield step("survived" if kind == "survived" else "skipped", clean_words(f"{path} on {host}: {what}"))
        if gone:
            size = text.size(sum(each.allocated_bytes for each in gone))
            yield step("proof", f"{len(gone)} of {text.some(len(paths), 'path')} removed on {host}, {size} had back")

    def start(self, halt: CancelFlag) -> Generator[Step, None, bool]:
        """Start again what the plan says, once all is proven to be gone, on all nodes at once. Returns whether it runs."""
        whole, starts = True, {node: node.part.start for node in self._nodes if node.part.start is not None}
        if not starts:
            return True
        if halt():
            yield from (step("skipped", f"not started: {_by_hand(node, start)}") for node, start in starts.items())
            return False
        yield from (step("doing", f"starting {_by_hand(node, start)}") for node, start in starts.items())
        for node, told in self._ask(_start):
            start = starts.get(node)
            if start is None:
                continue
            if told is None:
                whole = False
                yield step("failed", f"not started, or not known to run: {_by_hand(node, start)}: {node.lost}")
            elif told["alive"]:
                yield step("proof", f"pid {told['pid']} on {node.part.host} runs; its output goes to {start.log} there")
            else:
                whole = False
                yield step("failed", f"pid {told['pid']} on {node.part.host} ended within a moment: {start.log} there says why")
        return whole

    def close(self) -> None:
        for node in self._nodes:
            node.hands.close()

    def _ask(self, question: Callable[[FarNode], Told]) -> list[tuple[FarNode, Told | None]]:
        """What each node that answers tells, all asked at once; `None` of one that is lost by now."""
        answers: dict[str, Told] = {}

        def ask(node: FarNode) -> None:
            try:
                answers[node.part.host] = question(node)
            except (NodeLost, KeyError, TypeError, ValueError) as error:
                node.lost = str(error) or f"{node.part.host}: it answers in another form"

        there = [node for node in self._nodes if not node.lost]
        run_at_once([partial(ask, node) for node in there], most_s(len(there)), AT_ONCE)
        for node in there:
            if node.part.host not in answers and not node.lost:
                node.lost = f"{node.part.host} did not answer in time"
                node.hands.give_up()
        return [(node, answers.get(node.part.host)) for node in there]

    def _signal(self, number: signal.Signals, halt: CancelFlag) -> Iterator[Step]:
        """Each is logged before it goes."""
        aims = [(node, target) for node in self._nodes if not node.lost for target in node.left.values()]
        if not aims:
            return
        if halt():
            for node, target in aims:
                yield step("skipped", f"{node.named(target)} gets no {number.name}", target)
            return
        for node, target in aims:
            yield step("doing", f"{number.name} to {node.named(target)}", target)
        stopped = number is signal.SIGTERM
        for node, told in self._ask(lambda node: node.hands.order("signal", pids=list(node.left), number=int(number))):
            if told is None:
                yield step("failed", f"{node.lost}; whether {number.name} came there is not known")
                continue
            for pid, reason in _by_pid(told, "refused").items():
                if (left := node.left.get(pid)) is not None:
                    yield step("skipped", f"{node.named(left)}: {reason}", left)
            held = [pid for pid, target in node.left.items() if stopped and target.state in "Tt"]
            if held:
                self._quietly(node, held)

    def _quietly(self, node: FarNode, pids: list[int]) -> None:
        """A stopped process takes its TERM only once it goes on."""
        try:
            node.hands.order("signal", pids=pids, number=int(signal.SIGCONT))
        except NodeLost as error:
            node.lost = str(error)

    def _await(self, until: float, halt: CancelFlag) -> Iterator[Step]:
        """Reports which processes end."""
        while any(node.left for node in self._nodes if not node.lost):
            for node, told in self._ask(lambda node: node.hands.order("living")):
                if told is None:
                    yield step("failed", f"{node.lost}; what became of the rest there is not known")
                    continue
                ended = [pid for pid in node.left if pid not in told["alive"]]
                for pid in ended:
                    target = node.left.pop(pid)
                    yield step("done", f"{node.named(target)} ended", target)
            if halt.asked or time.monotonic() >= until:
                return
            time.sleep(LOOK_EVERY_S)

    def _take_born(self) -> Generator[Step, None, bool]:
        """Take hold of what the targets have started. Returns whether there is any."""
        found = False
        for node, told in self._ask(lambda node: node.hands.order("living")):
            rows = _rows(told, "born")
            if told is None or not rows:
                continue
            born = {pid: _target(node, pid, start, command, state) for pid, start, _, command, state in rows}
            lines = [node.target_line(target) for target in born.values()]
            try:
                refused = _by_pid(node.hands.order("hold_born", targets=lines), "refused")
            except NodeLost as error:
                node.lost = str(error)
                continue
            for pid, _, why, command, _ in rows:
                if pid not in refused:
                    found, node.left[pid] = True, born[pid]
                    said = f"pid {pid} on {node.part.host} came meanwhile ({why}) and ends too: {command[:SHOWN]}"
                    yield step("doing", clean_words(said), born[pid])
        return found

    def _prove(self) -> Generator[Step, None, bool]:
        """Each node is asked anew; one whose line broke is reached once more, to look and do nothing."""
        whole = True
        for node in self._nodes:
            if node.lost:
                if self._starts:  # what was kept to start it there went with the line, and what came meanwhile was not followed
                    whole = False
                    yield step(
                        "survived", f"{node.lost}: what came on {node.part.host} meanwhile was not followed, so nothing starts"
                    )
                node.hands.close()
                node.hands, node.lost = NodeHands(node.part.host, node.part.known), ""
        for node, told in self._ask(_check):
            host, number = node.part.host, len(node.part.targets)
            if not number:
                continue
            if told is None:
                whole = False
                yield step("survived", f"{text.some(number, 'process')} of the plan may live on {host}: {node.lost}")
                continue
            alive, by_pid = _by_pid(told, "alive"), {pid_there(target.pid): target for target in node.part.targets}
            for pid, why in alive.items():
                if (target := by_pid.get(pid)) is not None:
                    yield step("survived", f"{node.named(target)}: {why}", target)
            for pid, parent in _by_pid(told, "zombies").items():
                yield step("done", f"pid {pid} on {host} ended, but parent pid {parent} does not reap it: zombie, holds nothing")
            again = [*_rows(told, "born"), *_rows(told, "again")]
            for pid, _, why, command, _ in again:
                yield step("survived", clean_words(f"pid {pid} on {host} came meanwhile ({why}): {command[:SHOWN]}"))
            if not alive and not again:
                yield step("proof", f"{text.every(number, 'process')} of the plan {text.are(number)} gone on {host}")
            whole = whole and not alive and not again
        return whole

    @property
    def _starts(self) -> bool:
        """Whether the run is to start again, here or there."""
        return self._plan.start is not None or any(node.part.start is not None for node in self._nodes)

    def _unseen(self) -> Iterator[Step]:
        """The nodes that could not be seen when the plan was made."""
        for why in self._plan.unseen:
            yield step("survived", f"nothing is known of a node, and what runs there was not touched: {why}")


def most_s(nodes: int) -> float:
    """Within which so many nodes have answered, or are lost by their own limits."""
    return -(-nodes // AT_ONCE) * LONGEST_S + SPARE_S


def _hold(node: FarNode) -> Told:
    node.hands.begin()
    lines = [node.target_line(target) for target in node.part.targets]
    told = node.hands.order("hold", targets=lines, newest=node.part.newest_ticks)
    if node.part.start is not None:
        first = next(target for target in node.part.targets if target.pid == node.part.starts)
        usual = node.part.start.usual_argv or node.part.start.argv
        pid, start = node.target_line(first)
        node.hands.order("keep", pid=pid, start=start, argv=usual, output=node.part.start.log)
    return told


def _remove(older_s: float, trash: str, node: FarNode) -> Told:
    if not node.part.removals:
        return {}
    removals = [asdict(each) for each in node.part.removals]
    told = node.hands.order("remove", REMOVE_S, rules=RULES, older_s=older_s, removals=removals, trash=trash)
    return {"told": [row for row in told["told"] if isinstance(row, list) and len(row) == 3]}


def _by_hand(node: FarNode, start: Start) -> str:
    """What a person would do there."""
    return f"on {node.part.host}, in {start.cwd}: {shlex.join(start.argv)}"


def _start(node: FarNode) -> Told:
    """Start it, and look whether it runs also once the line over which it was started has ended."""
    if (start := node.part.start) is None:
        return {}
    words: Told = {"argv": start.argv, "cwd": start.cwd, "output": start.log, "set_env": start.set_env}
    told = node.hands.order("start", pid=pid_there(node.part.starts), **words)
    node.hands.close()
    return {"pid": int(told["pid"]), "alive": _lives_on(node.part, told["pid"], told["start"])}


def _check(node: FarNode) -> Told:
    if not node.hands.is_open:
        node.hands.begin()
    lines = [node.target_line(target) for target in node.part.targets]
    told = node.hands.order("check", targets=lines)
    return {**node.hands.order("living"), **told}


def _lives_on(part: NodePart, pid: int, start: int) -> bool:
    """Whether it runs also once the line over which it was started has ended. Raises `NodeLost`."""
    hands = NodeHands(part.host, part.known)
    try:
        hands.begin()
        return pid in _by_pid(hands.order("check", targets=[[pid, start]]), "alive")
    finally:
        hands.close()


def _by_pid(told: Told | None, name: str) -> dict[int, str]:
    """JSON has names for keys."""
    found = told.get(name) if told is not None else None
    return {int(pid): clean_words(str(why)) for pid, why in found.items()} if isinstance(found, dict) else {}


def _rows(told: Told | None, name: str) -> list[list[Any]]:
    found = told.get(name) if told is not None else None
    rows = found if isinstance(found, list) else []
    return [
        row for row in rows if isinstance(row, list) and len(row) == 5 and isinstance(row[0], int) and isinstance(row[1], int)
    ]


def _target(node: FarNode, pid: int, start: int, command: str, state: str) -> Target:
    return Target(on_node(node.part.known.node, pid), start, 0.0, clean_words(str(command)), str(state)[:1])
