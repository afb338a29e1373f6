"""The plans to stop one Ray session, to start it again, and to recover a run: who is in them, in which order, who never is."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hangtop.actions.plans import ray_plan, recovery_plan
from hangtop.actions.plans.ray_plan import restarted, session_of, stopped
from hangtop.actions.registry import Request
from hangtop.records.launch import Launch, LaunchReading
from hangtop.records.log import LogReading
from hangtop.records.plan import OwnProcess, Plan, RayStart, Refusal, Removal
from hangtop.records.process import Process, ProcessReading, RayTie
from hangtop.records.ray.cluster import RayCluster, RayNode, RayReading
from hangtop.records.ray.session import RayMatch, RayProcess, RaySession
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.plan_rows import rows
from hangtop.render.spans import plain
from hangtop.state.run_state import RunState

ME = OwnProcess(pid=50, ancestors=frozenset({1, 40, 45}), uid=1000)
NAME = "session_2026-01-01_00-00-00_000000_7"
HEAD = RayStart(
    ("/env/bin/ray", "start", "--head", "--port=6379", "--num-cpus=4"), "/", "/state/e.environ", "10.0.0.1:6379",
    dashboard="127.0.0.1:8265", resources={"CPU": 4.0},
)  # fmt: skip


def process(pid: int, kind: str, title: str = "", **more: object) -> RayProcess:
    given = {"start_ticks": pid, "started_at": 1.0, "ppid": 1, "command": f"ray {title}", "state": "S", "uid": 1000, **more}
    return RayProcess(**{"pid": pid, "kind": kind, "title": title or kind, **given})  # type: ignore[arg-type]


PROCESSES = (
    process(100, "gcs_server", "gcs server"),
    process(101, "raylet"),
    process(102, "daemon", "agent", ppid=101),
    process(103, "worker", ppid=101),
    process(104, "worker", ppid=103),
    process(105, "daemon", "dashboard"),
    process(106, "driver", "driver 01000000", job="01000000", command="python main.py"),
)
FOLDER = Removal(f"/tmp/ray/{NAME}", "Ray session", 1, 2, 1000, 3, 1.0, 4096, folder=True, changing=True)
TOLD = RaySession(1, NAME, f"/tmp/ray/{NAME}", PROCESSES, (HEAD,), removals=(FOLDER,))


def cluster(session: str = NAME, **more: object) -> RayCluster:
    return RayCluster(**{"session": session, "folder": f"/tmp/ray/{session}", "uid": 1000, "user": "alice", **more})  # type: ignore[arg-type]


def state(*clusters: RayCluster) -> RunState:
    return RunState(ray={"here": RayReading(clusters)})


def made(told: RaySession = TOLD, known: RunState | None = None) -> Plan:
    plan = restarted(known or state(cluster()), told, ME)
    assert isinstance(plan, Plan), plan
    return plan


def test_the_driver_goes_first_then_the_raylet_the_rest_and_the_gcs_last() -> None:
    plan = made()
    assert [target.pid for target in plan.targets] == [106, 101, 104, 102, 103, 105, 100]
    assert [target.wave for target in plan.targets] == [0, 1, 2, 2, 2, 2, 3]
    assert plan.ports == (6379, 8265)
    assert plan.word
    assert plan.ray == (HEAD,)
    said = "\n".join(plain(row) for row in rows(plan, 120))
    assert "/env/bin/ray start --head --port=6379" in said
    assert said.index("1  driver") < said.index("2  raylet") < said.index("4  gcs server")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (replace(TOLD, problem="no daemon of it was seen"), "no daemon"),
        (replace(TOLD, starts=(), unknown="its raylet was gone"), "its raylet was gone"),
        (replace(TOLD, starts=(), unknown="pid 106 started it with ray.init()", holder=106), "start the run again"),
        (replace(TOLD, processes=(process(101, "raylet", uid=0, user="root"),)), "belongs to root"),
        (replace(TOLD, processes=(*PROCESSES, process(1, "daemon", "ray start"))), "restart the container"),
        (replace(TOLD, processes=(*PROCESSES, process(40, "daemon", "ray start"))), "keeps this container or your session"),
    ],
)
def test_why_a_session_is_not_restarted_is_said(told: RaySession, why: str) -> None:
    refused = restarted(state(cluster()), told, ME)
    assert isinstance(refused, Refusal)
    assert why in refused.why


def test_a_session_whose_options_are_not_known_can_still_be_stopped() -> None:
    plan = stopped(state(cluster()), replace(TOLD, starts=(), unknown="gone"), ME)
    assert isinstance(plan, Plan)
    assert not plan.ray


def test_a_driver_of_another_user_stays_and_then_the_folder_stays_too() -> None:
    plan = made(replace(TOLD, processes=(*PROCESSES[:-1], replace(PROCESSES[-1], uid=0, user="root"))))
    assert 106 not in {target.pid for target in plan.targets}
    assert any("belongs to root" in spared.why for spared in plan.spared)
    assert not plan.removals


def test_jobs_that_are_not_of_the_run_are_named_before_all_else() -> None:
    run = replace(state(cluster()), procs=ProcessReading(processes=(one_of_run(200),)))
    assert any("not of this run" in warning for warning in made(known=run).warnings)
    own = replace(state(cluster()), procs=ProcessReading(processes=(one_of_run(106),)))
    assert not any("not of this run" in warning for warning in made(known=own).warnings)


def test_nodes_elsewhere_are_told_how_to_join_again() -> None:
    away = RayNode("b" * 56, "node2", "10.0.0.2")
    (said,) = (w for w in made(known=state(cluster(nodes=(away,)))).warnings if "join" in w)
    assert "node2 (10.0.0.2)" in said
    assert "ray start --address=10.0.0.1:6379" in said


def test_plain_ray_stop_is_refused_while_it_would_hit_anything_else() -> None:
    ours = tuple(RayMatch(member.pid, member.start_ticks, member.command, "ray::") for member in PROCESSES)
    assert ray_plan.plain_stop_refused(replace(TOLD, matches=ours), ME) is None
    foreign = RayMatch(900, 900, "python my_monitor.py", "monitor.py")
    refused = ray_plan.plain_stop_refused(replace(TOLD, matches=(*ours, foreign)), ME)
    assert isinstance(refused, Refusal)
    assert "pid 900" in refused.why
    reused = RayMatch(101, 999, "raylet of somebody", "raylet")
    assert ray_plan.plain_stop_refused(replace(TOLD, matches=(*ours, reused)), ME) is not None


@pytest.mark.parametrize(
    ("change", "argv"),
    [
        ("num-cpus=8", ("--port=6379", "--num-cpus=8")),
        ("--num-cpus=", ("--port=6379",)),
        ("block", ("--port=6379", "--num-cpus=4", "--block")),
    ],
)
def test_options_can_be_changed_and_what_they_change_is_not_compared(change: str, argv: tuple[str, ...]) -> None:
    start = ray_plan.with_options(made(), [change]).ray[0]
    assert start.argv == ("/env/bin/ray", "start", "--head", *argv)
    assert start.resources == {}


def test_the_folder_with_the_logs_can_stay() -> None:
    plan = ray_plan.without_folder(made())
    assert not plan.removals
    assert any(spared.what == FOLDER.path for spared in plan.spared)


OWN = ProcessReading(ray=(RayTie("drives", f"/tmp/ray/{NAME}", 106, job="01"),))
"""A process of the run drives a job of the session."""


@pytest.mark.parametrize(
    ("clusters", "procs", "name", "found"),
    [
        ((cluster(),), OWN, "", NAME),
        ((cluster(), cluster("session_b")), OWN, "", NAME),
        ((cluster(ended_at=5.0), cluster("session_b")), OWN, "", NAME),
        ((cluster(gcs_address="10.0.0.1:6379"), cluster("session_b")), None, "10.0.0.1:6379", NAME),
        ((cluster(), cluster("session_b")), OWN, "session_b", "session_b"),
    ],
    ids=["the run's", "beside another", "ended, beside another", "by address", "by name"],
)
def test_which_session_is_meant(clusters: tuple[RayCluster, ...], procs: ProcessReading | None, name: str, found: str) -> None:
    assert session_of(replace(state(*clusters), procs=procs), ME, name) == found


@pytest.mark.parametrize(
    ("clusters", "procs", "name", "why"),
    [
        ((), None, "", "no Ray session of yours"),
        ((cluster(uid=0, user="root"),), None, "", "no Ray session of yours"),
        ((cluster(),), None, "", "none is proven to be this run's: name the one that is meant"),
        ((cluster(ended_at=5.0),), None, "", "none is proven to be this run's"),
        ((cluster(), cluster("session_b")), None, "", "2 Ray sessions of yours on this machine"),
        ((cluster(),), None, "session_c", "no session session_c"),
        ((cluster("session_b", uid=0, user="root"),), None, "session_b", "session_b belongs to root"),
        ((cluster(uid=0, user="root"), cluster("session_b")), OWN, "", "belongs to root"),
        ((cluster(gcs_address="h:1"), cluster("session_b", gcs_address="h:1")), None, "h:1", "2 sessions have h:1"),
    ],
)
def test_a_session_is_never_guessed(clusters: tuple[RayCluster, ...], procs: ProcessReading | None, name: str, why: str) -> None:
    refused = session_of(replace(state(*clusters), procs=procs), ME, name)
    assert isinstance(refused, Refusal)
    assert why in refused.why


def test_a_run_that_may_be_on_ray_is_recovered_without_a_session_that_nothing_proves_and_says_so() -> None:
    reads_like_gkd = replace(state(cluster()), procs=RUN, log=LogReading(files=(), profiles=("gkd", "ray")))
    assert recovery_plan.session_of(reads_like_gkd, ME) == ""
    assert recovery_plan.must_ask(reads_like_gkd, ME)
    plan = recovery(None, reads_like_gkd)
    assert {target.pid for target in plan.targets} == {106, 103}
    assert not plan.ray
    assert not plan.removals
    assert any(f"Ray is left as it is; --session NAME takes it along: {NAME}" in warning for warning in plan.warnings)
    plain = replace(reads_like_gkd, log=LogReading(files=(), profiles=("torchrun",)))
    assert not recovery_plan.must_ask(plain, ME)
    assert not [warning for warning in recovery(None, plain).warnings if "Ray" in warning]
    own = replace(reads_like_gkd, procs=replace(RUN, ray=OWN.ray))
    assert recovery_plan.session_of(own, ME) == NAME


def one_of_run(pid: int, **more: object) -> Process:
    given = {
        "started_at": 1.0,
        "start_ticks": pid,
        "ppid": 45,
        "name": "python",
        "command": "python main.py",
        "state": "S",
        **more,
    }
    return Process(**{"pid": pid, "uid": 1000, **given})  # type: ignore[arg-type]


LAUNCH = LaunchReading(1, Launch(("python", "main.py"), "/run", "/state/r.environ", 106, 106, 1.0, "/run/train.log"))
RUN = ProcessReading(
    processes=(one_of_run(106, role="launcher"), one_of_run(103, ppid=101, role="rank", rank=0, command="ray::WorkerDict.update"))
)


def recovery(session: RaySession | None = TOLD, known: RunState | None = None) -> Plan:
    given = known or replace(state(cluster()), procs=RUN)
    request = Request(ME, WatchSpec(logs=("/run/train.log",)), 0.0, evidence="/here/hangtop-1")
    plan = recovery_plan.recovery_plan(given, LAUNCH, session, request)
    assert isinstance(plan, Plan), plan
    return plan


def test_a_recovery_stops_driver_ranks_and_ray_each_once_and_in_this_order() -> None:
    plan = recovery()
    assert [target.pid for target in plan.targets] == [106, 103, 101, 104, 102, 105, 100]
    assert [target.wave for target in plan.targets] == sorted(target.wave for target in plan.targets)
    assert [command.title for command in plan.evidence] == ["stacks", "bundle"]
    assert plan.word == "recover"
    assert plan.ray == (HEAD,)
    assert plan.start is not None
    assert plan.start.attempt == 2
    assert plan.watch is not None


def test_a_run_whose_driver_started_ray_itself_brings_its_own_again() -> None:
    plan = recovery(replace(TOLD, starts=(), unknown="ray.init()", holder=106))
    assert not plan.ray
    assert plan.start is not None
    assert 100 in {target.pid for target in plan.targets}
    assert any("brings its own" in warning for warning in plan.warnings)


def test_a_session_of_another_user_is_left_as_it_is() -> None:
    plan = recovery(replace(TOLD, processes=(process(101, "raylet", uid=0, user="root"),)))
    assert {target.pid for target in plan.targets} == {106, 103}
    assert not plan.ray
    assert any("left as it is" in warning for warning in plan.warnings)


def test_a_run_without_ray_is_recovered_too() -> None:
    plan = recovery(None)
    assert {target.pid for target in plan.targets} == {106, 103}
    assert not plan.ray
    assert plan.start is not None


def session(seed: int) -> tuple[RaySession, OwnProcess]:
    """A session with random parents, users, states and kinds, and a random place for hangtop in it."""
    chance = Random(seed)
    pids = chance.sample(range(61), chance.randint(1, 25))
    found = tuple(
        process(
            pid,
            chance.choice(["driver", "raylet", "gcs_server", "worker", "daemon"]),
            ppid=chance.choice([0, 1, *pids]),
            uid=chance.choice([None, 0, 1000, 1000, 1000]),
            state=chance.choice("RSDZTX"),
        )
        for pid in pids
    )
    me = OwnProcess(chance.choice([*pids, 99]), frozenset(chance.choices(pids, k=chance.randint(0, 3))), 1000)
    return replace(TOLD, processes=found), me


@settings(max_examples=1_500, deadline=None)
@given(st.integers(0, 2**32))
def test_no_session_makes_a_plan_that_leaves_it(seed: int) -> None:
    told, me = session(seed)
    plan = stopped(state(cluster()), told, me)
    if isinstance(plan, Refusal):
        return
    known = {member.pid: member for member in told.processes}
    order = [target.pid for target in plan.targets]
    assert len(order) == len(set(order))
    for target in plan.targets:
        member = known[target.pid]
        assert target.pid > 1
        assert target.pid != me.pid
        assert target.pid not in me.ancestors
        assert member.uid == me.uid
        assert member.state not in "ZX"
        assert target.start_ticks == member.start_ticks
        assert target.wave == ray_plan.WAVES[member.kind]
    assert [target.wave for target in plan.targets] == sorted(target.wave for target in plan.targets)
    assert not plan.removals or set(order) == set(known)
