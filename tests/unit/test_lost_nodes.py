"""A plan over nodes of which one is lost on the way, another hand's at the time, or slow: played by what a node answers."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hangtop.actions.execute import lock, node_hands, other_nodes
from hangtop.actions.execute.executor import execute
from hangtop.actions.execute.node_hands import NodeLost
from hangtop.records.nodes import OtherNode, on_node
from hangtop.records.plan import NodePart, Plan, Start, Step, Target
from hangtop.system.processes.linux import read_stat
from hangtop.system.processes.open_table import open_table
from tests.fakes.processes import running

NODE = OtherNode(1, "boot-2", "pid:[2]", uid=500, launcher="ssh {host} {probe}", tied=True)
Answer = Callable[[str], dict[str, Any]]


class Played:
    """The line to a node that answers as it is told to. `began`: how often it was opened; `orders`: all that it got."""

    began = 0
    orders: tuple[str, ...] = ()
    breaks_at = ""

    def __init__(self, host: str, known: OtherNode) -> None:
        self.host, self.is_open = host, False

    def begin(self) -> None:
        type(self).began += 1
        self.is_open = True

    def order(self, order: str, within_s: float = 0.0, **what: Any) -> dict[str, Any]:
        played = type(self)
        played.orders += (order,)
        if order == played.breaks_at and played.began == 1:
            self.is_open = False
            raise NodeLost(f"{self.host}: the line to it ended")
        alive = {"check": {300: ""} if "start" in played.orders else {}}.get(order, [])
        return {"pid": 300, "start": 900, "alive": alive, "born": [], "again": [], "zombies": {}, "refused": {}}

    def close(self) -> None:
        self.is_open = False

    def give_up(self) -> None:
        self.is_open = False


@pytest.fixture(autouse=True)
def played(monkeypatch: pytest.MonkeyPatch) -> type[Played]:
    class Node(Played):
        pass

    monkeypatch.setattr(other_nodes, "NodeHands", Node)
    return Node


def restart(folder: Path) -> Plan:
    """Of a rank on another node and nothing here."""
    target = Target(on_node(1, 200), 200, 1.0, "torchrun train.py", "S")
    there = Start(("torchrun", "train.py"), "/runs", "/runs/n2.log")
    here = Start(("sleep", "600"), str(folder), str(folder / "out"))
    return Plan("restart", "Restart", start=here, elsewhere=(NodePart("n2", NODE, (target,), 200, there, target.pid),))


def carried_out(plan: Plan) -> tuple[list[Step], str]:
    steps = list(execute(plan, open_table()))
    return steps, "\n".join(f"{step.kind}: {step.text}" for step in steps)


@pytest.mark.parametrize("order", ["signal", "living"])
def test_a_restart_whose_line_to_a_node_breaks_before_the_start_starts_nothing(
    tmp_path: Path, played: type[Played], order: str
) -> None:
    played.breaks_at = order
    _, said = carried_out(restart(tmp_path))
    assert "what came on n2 meanwhile was not followed, so nothing starts" in said
    assert "nothing was started, because something of the old run is left" in said
    assert "doing: starting" not in said
    assert "start" not in played.orders
    assert not (tmp_path / "out").exists()
    assert played.began == 2, "it is looked at once more"
    assert played.orders[-2:] == ("check", "living")


def test_a_restart_that_cannot_reach_a_node_signals_and_starts_nothing(tmp_path: Path, played: type[Played]) -> None:
    played.breaks_at = "hold"
    _, said = carried_out(restart(tmp_path))
    assert "n2: the line to it ended; nothing was done there" in said
    assert "nothing was signalled, because the run could not be started again on all nodes" in said
    assert "doing: starting" not in said
    assert {"signal", "start"}.isdisjoint(played.orders)
    assert not (tmp_path / "out").exists()


def test_a_restart_whose_line_holds_starts_here_and_there(tmp_path: Path, played: type[Played]) -> None:
    steps, said = carried_out(restart(tmp_path))
    (here,) = (step.text.split()[1] for step in steps if step.kind == "proof" and step.text.endswith("runs"))
    os.kill(int(here), signal.SIGKILL)
    assert "doing: starting on n2, in /runs: torchrun train.py" in said
    assert "start" in played.orders


@pytest.mark.parametrize(("launcher", "first"), [("ssh {host} {probe}", False), ("srun --jobid=7 {host} {probe}", True)])
def test_a_node_whose_line_ends_with_the_job_is_ended_and_proven_before_what_may_hold_the_job(launcher: str, first: bool) -> None:
    with running("sleep", "600") as here:
        known = read_stat(here.pid)
        assert known is not None
        near = Target(here.pid, known.start_ticks, 1.0, "srun train.py", "S")
        part = NodePart("n2", replace(NODE, launcher=launcher), (Target(on_node(1, 200), 200, 1.0, "train.py", "S"),), 200)
        steps, said = carried_out(Plan("stop", "Stop", (near,), elsewhere=(part,)))
    order = [place for place, step in enumerate(steps) if "gone on n2" in step.text or f"SIGTERM to pid {here.pid}" in step.text]
    assert len(order) == 2, said
    assert ("gone on n2" in steps[order[0]].text) is first


def test_a_lock_on_a_process_of_another_node_is_the_same_from_whichever_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = restart(Path("/runs"))
    near = Target(os.getpid(), 5, 1.0, "train.py", "S")

    def places(boot: bytes) -> tuple[set[int], set[int]]:
        monkeypatch.setattr(lock, "_boot", lambda: boot)
        far = {lock._place(name) for name in lock.names(Plan("stop", "", elsewhere=plan.elsewhere))}
        return far, {lock._place(name) for name in lock.names(Plan("stop", "", (near,)))}

    (far, here), (also_far, elsewhere) = places(b"boot-1"), places(b"boot-9")
    assert far == also_far
    assert len(far) == 2, "the process, and the output of its start"
    assert here.isdisjoint(elsewhere)


@pytest.mark.parametrize("nodes", [1, other_nodes.AT_ONCE, 512])
def test_no_node_is_given_up_before_its_own_limits_are_over(nodes: int) -> None:
    one_after_the_other = -(-nodes // other_nodes.AT_ONCE)
    opened = 2 * node_hands.OPEN_S
    ordered = 2 * (node_hands.SEND_S + node_hands.ORDER_S)
    assert other_nodes.most_s(nodes) > one_after_the_other * (opened + ordered)
