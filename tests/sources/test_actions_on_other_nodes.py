"""A plan is carried out on another node by the same rules as here: real processes in a PID namespace of their own."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.actions.plans.stop_plan import stop_plan
from hangtop.probe.nodes.node_launches import Ports, launches, ports_here
from hangtop.records.nodes import pid_there
from hangtop.records.plan import NodePart, Plan, Start
from hangtop.records.process import Process
from hangtop.records.stopped import RunPlace
from hangtop.system.stores.stop_store import StopStore
from tests.fakes.far_run import ME, SLEEPS, FarRun, carried_out, kinds, said
from tests.fakes.other_node import needs_namespaces
from tests.fakes.processes import PATIENCE_S, eventually, running

pytestmark = needs_namespaces
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


@pytest.fixture
def far(tmp_path: Path) -> Iterator[ExitStack]:
    with ExitStack() as ends:
        yield ends


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
    assert (launch.argv[0], launch.output, launch.by) == (sys.executable, f"{tmp_path}/out", 0)
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


def named(name: str, pid: int) -> Process:
    return Process(pid, 1.0, 1, 1, name, name, "S")


def test_only_a_living_session_of_the_runs_own_client_starts_something_there_again() -> None:
    """A session that has ended stays in the kernel's list for a minute, and a person's own shell is no part of the run."""
    connects = "import socket, sys, time\nsocket.create_connection(('127.0.0.1', int(sys.argv[1])))\ntime.sleep(600)"
    closes = connects.replace("time.sleep", "line.close() or time.sleep").replace("\nsocket.", "\nline = socket.")
    keeps = connects.replace("\nsocket.", "\nline = socket.")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        with running(sys.executable, "-c", keeps, port) as client, running(sys.executable, "-c", closes, port) as ended:
            lines = [server.accept() for _ in range(2)]
            eventually(lambda: ports_here([named("ssh", client.pid)]).sessions, "its session")
            ((mine, holder),) = ports_here([named("ssh", client.pid)]).sessions.items()
            assert mine in [address[1] for _, address in lines]
            assert holder == client.pid
            assert ports_here([named("python", client.pid)]) == Ports()
            eventually(lambda: not ports_here([named("ssh", ended.pid)]).sessions, "the end of the other")
            assert ports_here([named("srun", os.getpid())]).hubs[int(port)] == os.getpid()
            for line, _ in lines:
                line.close()
