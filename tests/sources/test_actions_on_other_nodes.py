"""A plan is carried out on another node by the same rules as here: real processes in a PID namespace of their own."""

from __future__ import annotations

import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.actions.execute.executor import execute
from hangtop.actions.plans.stop_plan import stop_plan
from hangtop.common import clock
from hangtop.probe.context import ProbeContext
from hangtop.probe.nodes.node_launches import client_ports, launches
from hangtop.probe.nodes.node_source import NodeSource, open_nodes
from hangtop.records.nodes import pid_there, source_of
from hangtop.records.plan import NodePart, OwnProcess, Plan, Start, Step
from hangtop.records.process import ProcessReading, Rendezvous
from hangtop.records.reading import Reading
from hangtop.records.stopped import RunPlace
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from hangtop.system.processes.open_table import open_table
from hangtop.system.stores.stop_store import StopStore
from tests.fakes.other_node import needs_namespaces, node
from tests.fakes.processes import PATIENCE_S, eventually, running

pytestmark = needs_namespaces
RANK = {"RANK": "1", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29511"}
ME = OwnProcess(os.getpid(), frozenset(), os.geteuid(), "here")
SLEEPS = "import time; time.sleep(600)"
DEAF = """
import signal, time
signal.signal(signal.SIGTERM, lambda *_: open({got!r}, "w").close())
while True:
    time.sleep(600)
"""
CUT = """
exec 3<&0
shift
{into} "$@" <&3 &
while [ ! -e {got} ]; do sleep 0.05; done
rm {got}
kill $(cat /proc/$!/task/$!/children) $!
"""
"""A launcher that ends once the rank has got its TERM; the next one lasts."""
HAS_A_SON = """
import os, signal, subprocess, sys, time
def leave(*_):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=False)
    time.sleep(1)
    sys.exit()
signal.signal(signal.SIGTERM, leave)
time.sleep(600)
"""


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


@pytest.fixture
def far(tmp_path: Path) -> Iterator[ExitStack]:
    with ExitStack() as ends:
        yield ends


def carried_out(plan: Plan) -> list[Step]:
    return list(execute(plan, open_table()))


def kinds(steps: list[Step]) -> set[str]:
    return {step.kind for step in steps}


def said(steps: list[Step], kind: str) -> str:
    return "\n".join(step.text for step in steps if step.kind == kind)


def test_a_stop_ends_the_rank_on_its_node_and_proves_it(far: ExitStack, tmp_path: Path) -> None:
    run = FarRun(far, tmp_path, SLEEPS)
    plan = run.plan()
    (part,) = plan.elsewhere
    assert (part.host, len(part.targets), plan.targets) == ("n2", 1, ())
    pid = pid_there(part.targets[0].pid)
    assert run.lives(pid)
    log = tmp_path / "train.log"
    log.write_text("step 1/10\n")
    steps = carried_out(replace(plan, stops=RunPlace((str(log),), "", 1)))
    told = StopStore().latest((str(log),))
    assert told is not None, "it is no crash, though nothing of it was here"
    assert told.ended_at
    assert f"SIGTERM to pid {pid} on n2 rank 1" in said(steps, "doing")
    assert "the process of the plan is gone on n2" in said(steps, "proof")
    assert not kinds(steps) & {"survived", "failed"}
    assert not run.lives(pid)


def test_a_pid_that_belongs_to_another_process_by_now_gets_no_signal(far: ExitStack, tmp_path: Path) -> None:
    run = FarRun(far, tmp_path, SLEEPS)
    plan = run.plan()
    (part,) = plan.elsewhere
    other = replace(part.targets[0], start_ticks=part.targets[0].start_ticks - 1)
    steps = carried_out(replace(plan, elsewhere=(replace(part, targets=(other,)),)))
    assert "its pid belongs to another process now" in said(steps, "skipped")
    assert "SIGTERM" not in said(steps, "doing")
    assert run.lives(pid_there(other.pid))


@pytest.mark.parametrize("differs", ["boot", "pids", "uid"])
def test_another_machine_or_user_that_answers_by_this_name_does_nothing(far: ExitStack, tmp_path: Path, differs: str) -> None:
    run = FarRun(far, tmp_path, SLEEPS)
    plan = run.plan()
    (part,) = plan.elsewhere
    known = replace(part.known, **{differs: 4711 if differs == "uid" else "another"})
    steps = carried_out(replace(plan, elsewhere=(replace(part, known=known),)))
    assert "another machine, or another user, answers by this name now" in said(steps, "failed")
    assert "may live on n2" in said(steps, "survived")
    assert run.lives(pid_there(part.targets[0].pid))


def test_a_node_that_cannot_be_reached_is_named_and_not_taken_to_be_clean(far: ExitStack, tmp_path: Path) -> None:
    run = FarRun(far, tmp_path, SLEEPS)
    plan = run.plan()
    (part,) = plan.elsewhere
    known = replace(part.known, launcher="sh -c 'echo no route to host >&2; exit 255' {host} {probe}")
    steps = carried_out(replace(plan, elsewhere=(replace(part, known=known),)))
    assert "1 process of the plan may live on n2: n2: no route to host" in said(steps, "survived")
    assert "proof" not in kinds(steps)


def test_a_line_that_is_cut_ends_the_signals_and_the_node_is_looked_at_once_more(far: ExitStack, tmp_path: Path) -> None:
    got = tmp_path / "got"
    run = FarRun(far, tmp_path, DEAF.format(got=str(got)))
    plan = run.plan()
    (part,) = plan.elsewhere
    into = part.known.launcher.partition(" env NODE=")[0]
    (tmp_path / "cut.sh").write_text(CUT.format(into=into, got=got))
    known = replace(part.known, launcher=f"sh {tmp_path}/cut.sh {{host}} {{probe}}")
    steps = carried_out(replace(plan, elsewhere=(replace(part, known=known),)))
    assert "what became of the rest there is not known" in said(steps, "failed")
    assert "SIGKILL" not in said(steps, "doing")
    assert "it lives, in state S" in said(steps, "survived")
    assert run.lives(pid_there(part.targets[0].pid))


def test_what_ignores_term_is_killed_and_what_it_started_meanwhile_ends_too(far: ExitStack, tmp_path: Path) -> None:
    run = FarRun(far, tmp_path, HAS_A_SON)
    plan = replace(run.plan(), grace_s=0.5)
    steps = carried_out(plan)
    assert "came meanwhile" in said(steps, "doing")
    assert "is gone on n2" in said(steps, "proof")
    assert not kinds(steps) & {"survived", "failed"}


def test_nothing_ties_a_node_that_was_only_named_to_the_run(far: ExitStack, tmp_path: Path) -> None:
    run = FarRun(far, tmp_path, SLEEPS)
    run.source._context.procs = None
    eventually(lambda: (run.fold(), "n2" in run.state.processes)[1], "the node")
    eventually(lambda: (run.fold(), bool(run.processes))[1], "its rank")
    made = stop_plan(run.state, ME)
    assert not isinstance(made, Plan)
    assert "nothing but --hosts ties it to this log" in made.why


def test_a_restart_begins_there_again_with_its_own_words_folder_and_environment(far: ExitStack, tmp_path: Path) -> None:
    tells = "import os, sys, time; print(os.environ['NOTE'], os.environ.get('MORE'), os.getpid(), flush=True); time.sleep(600)"
    run = FarRun(far, tmp_path, tells)
    plan = run.plan()
    (part,) = plan.elsewhere
    (target,) = part.targets
    (launch,) = launches({1: run.link}, 3, ((target.pid, target.start_ticks),))
    assert (launch.argv[0], launch.output, launch.by) == (sys.executable, f"{tmp_path}/out", "")
    start = Start(launch.argv, launch.cwd, launch.output, set_env={"MORE": "set"})
    again = replace(part, start=start, starts=target.pid)
    here = Start((sys.executable, "-c", "import time; time.sleep(600)"), str(tmp_path), f"{tmp_path}/here")
    steps = carried_out(replace(plan, elsewhere=(again,), start=here))
    mine = next(int(step.text.split()[1]) for step in steps if step.kind == "proof" and step.text.endswith("runs"))
    os.kill(mine, 9)
    assert "runs; its output goes to" in said(steps, "proof")
    lines = eventually(lambda: (tmp_path / "out").read_text().splitlines()[1:], "its output")
    assert lines[0].startswith("kept set ")


def test_nothing_is_ended_for_a_restart_while_a_node_does_not_answer(far: ExitStack, tmp_path: Path) -> None:
    run = FarRun(far, tmp_path, SLEEPS)
    plan = run.plan()
    (part,) = plan.elsewhere
    gone = replace(part, known=replace(part.known, launcher="false {host} {probe}"))
    here = Start((sys.executable, "-c", "0"), str(tmp_path), f"{tmp_path}/here")
    began = time.monotonic()
    steps = carried_out(replace(plan, elsewhere=(gone, part), start=here))
    assert "nothing was signalled" in said(steps, "failed")
    assert "SIGTERM" not in said(steps, "doing")
    assert time.monotonic() - began < PATIENCE_S
    assert run.lives(pid_there(part.targets[0].pid))
    assert isinstance(part, NodePart)


def test_only_a_living_session_of_the_runs_own_client_starts_something_there_again() -> None:
    """A session that has ended stays in the kernel's list for a minute, and a person's own shell is no part of the run."""
    connects = "import socket, sys, time\nsocket.create_connection(('127.0.0.1', int(sys.argv[1])))\ntime.sleep(600)"
    closes = connects.replace("time.sleep", "line.close() or time.sleep").replace("\nsocket.", "\nline = socket.")
    keeps = connects.replace("\nsocket.", "\nline = socket.")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        with running(sys.executable, "-c", keeps, port) as client, running(sys.executable, "-c", closes, port) as ended:
            lines = [server.accept() for _ in range(2)]
            eventually(lambda: client_ports((client.pid,)), "its session")
            (mine,) = client_ports((client.pid,))
            assert mine in [address[1] for _, address in lines]
            assert client_ports(()) == frozenset()
            eventually(lambda: not client_ports((ended.pid,)), "the end of the other")
            for line, _ in lines:
                line.close()
