"""A rank on another node, as hangtop sees it, and a plan for it that is carried out."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path

from hangtop.actions.execute.executor import execute
from hangtop.actions.plans.stop_plan import stop_plan
from hangtop.common import clock
from hangtop.probe.context import ProbeContext
from hangtop.probe.nodes.node_source import NodeSource, open_nodes
from hangtop.records.nodes import pid_there, source_of
from hangtop.records.plan import OwnProcess, Plan, Step
from hangtop.records.process import ProcessReading, Rendezvous
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from hangtop.system.processes.open_table import open_table
from tests.fakes.other_node import node
from tests.fakes.processes import eventually

RANK = {"RANK": "1", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29511"}
ME = OwnProcess(os.getpid(), frozenset(), os.geteuid(), "here")
SLEEPS = "import time; time.sleep(600)"


class FarRun:
    """A rank on another node, with the state of it as hangtop sees it."""

    def __init__(self, ends: ExitStack, folder: Path, program: str) -> None:
        rank = " ".join(f"{name}={value}" for name, value in RANK.items())
        words = (
            f"env {rank} NOTE=kept {shlex.quote(sys.executable)} -c {shlex.quote(program)} >>{folder}/out 2>&1 & wait; sleep 600"
        )
        self.launcher = ends.enter_context(node("sh", "-c", words, environ=dict(os.environ), log=folder / "n2.log"))
        spec = WatchSpec(hosts=("n2",), launcher=self.launcher)
        context = ProbeContext(spec)
        context.nodes = open_nodes(spec)
        self.link = context.nodes[1]
        ends.callback(self.link.close)
        context.procs = ProcessReading(rendezvous=Rendezvous("10.0.0.1", 29_511))
        self.source = NodeSource(context, self.link)
        self.state = RunState()

    def plan(self) -> Plan:
        def look() -> bool:
            self.fold()
            return any("python" in process.command for process in self.processes)

        eventually(look, "the rank there")
        made = stop_plan(self.state, ME)
        assert isinstance(made, Plan), made
        return made

    def fold(self) -> None:
        for reading in self.source.read(clock.now()):
            self.state = fold(self.state, Reading(source_of("n2"), "n2", clock.now(), reading))

    @property
    def processes(self) -> tuple[object, ...]:
        return self.state.processes["n2"].processes if "n2" in self.state.processes else ()

    def lives(self, pid: int) -> bool:
        """Asked of the node itself."""
        self.link.ask_launch(-7, ((pid, self.ticks[pid]),))
        found: list[dict[str, object]] = []

        def told() -> bool:
            found.extend(self.link.answers(-7))
            return any("asked" in record for record in found)

        eventually(told, "an answer of the node")
        return any("argv" in record.get("launch", {}) for record in found)  # type: ignore[operator]

    @property
    def ticks(self) -> dict[int, int]:
        return {pid_there(process.pid): process.start_ticks for process in self.processes}  # type: ignore[attr-defined]


def carried_out(plan: Plan) -> list[Step]:
    return list(execute(plan, open_table()))


def kinds(steps: list[Step]) -> set[str]:
    return {step.kind for step in steps}


def said(steps: list[Step], kind: str) -> str:
    return "\n".join(step.text for step in steps if step.kind == kind)
