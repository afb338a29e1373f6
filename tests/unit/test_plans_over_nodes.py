"""Plans over several nodes: what each node's part holds, and what is left alone there."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.actions.plans.clean_plan import clean_plan
from hangtop.actions.plans.presets import presets, with_presets
from hangtop.actions.plans.restart_plan import launch_ask, restart_plan
from hangtop.actions.plans.stop_plan import stop_plan
from hangtop.records.health import SourceHealth
from hangtop.records.launch import Launch, LaunchReading, NodeLaunch
from hangtop.records.nodes import OtherNode, on_node, source_of
from hangtop.records.plan import LeftoversReading, OwnProcess, Plan, Refusal
from hangtop.records.process import Process, ProcessReading, Writer
from hangtop.records.reading import Reading
from hangtop.render.plan_rows import rows
from hangtop.render.spans import plain
from hangtop.state.run_state import RunState, fold

ME = OwnProcess(pid=50, ancestors=frozenset({1, 40, 45}), uid=1000, host="n1")
NODE = OtherNode(1, "boot-2", "pid:[2]", uid=500, launcher="ssh {host} {probe}", tied=True)
WORDS = ("torchrun", "--node-rank=1", "train.py")
NOW = 10_000.0


def process(pid: int, ppid: int, node: int = 0, **more: object) -> Process:
    given = {
        "started_at": 1.0,
        "name": "python",
        "uid": 500 if node else 1000,
        "command": "python train.py",
        "state": "S",
        **more,
    }
    ids = {"pid": on_node(node, pid), "ppid": on_node(node, ppid), "start_ticks": pid}
    return Process(**{**ids, **given})  # type: ignore[arg-type]


HERE = (process(100, 45, role="launcher"), process(101, 100, role="rank", rank=0))
THERE = (process(200, 7, 1, role="launcher"), process(201, 200, 1, role="rank", rank=1))


def seen(
    here: tuple[Process, ...] = HERE, there: tuple[Process, ...] = THERE, node: OtherNode = NODE, **more: object
) -> RunState:
    state = fold(RunState(), Reading("procs", "n1", 1.0, ProcessReading(processes=here, **more)))  # type: ignore[arg-type]
    return fold(state, Reading(source_of("n2"), "n2", 1.0, ProcessReading(processes=there, node=node)))


def test_a_stop_of_the_run_has_a_part_for_each_node_children_first() -> None:
    made = stop_plan(seen(), ME)
    assert isinstance(made, Plan)
    assert made.title == "Stop the run: 4 processes on n1, n2"
    assert [target.pid for target in made.targets] == [101, 100]
    (part,) = made.elsewhere
    assert (part.host, part.known) == ("n2", NODE)
    assert [target.pid for target in part.targets] == [on_node(1, 201), on_node(1, 200)]
    assert "not stopped from here" not in str(made.warnings)
    shown = "\n".join(plain(row) for row in rows(made, 100))
    assert "On n2, at the same time" in shown
    assert str(on_node(1, 201)) not in shown, "a person reads pids as they are there"


def test_one_rank_there_is_stopped_alone() -> None:
    made = stop_plan(seen(), ME, rank=1)
    assert isinstance(made, Plan)
    assert made.targets == ()
    assert [target.rank for target in made.elsewhere[0].targets] == [1]
    by_pid = stop_plan(seen(), ME, pid=on_node(1, 201))
    assert isinstance(by_pid, Plan)
    assert by_pid.elsewhere == made.elsewhere


@pytest.mark.parametrize(
    ("node", "more", "why"),
    [
        (replace(NODE, tied=False), {}, "nothing but --hosts ties it"),
        (replace(NODE, uid=-1), {}, "it belongs to"),
        (NODE, {"uid": 7, "user": "bob"}, "it belongs to bob"),
    ],
)
def test_what_is_not_proven_to_be_the_runs_and_ours_is_left_alone_there(
    node: OtherNode, more: dict[str, object], why: str
) -> None:
    there = (process(201, 7, 1, role="rank", rank=1, **more),)
    made = stop_plan(seen(there=there, node=node), ME)
    assert isinstance(made, Plan)
    assert made.elsewhere == ()
    assert any(why in left.why and left.what == "pid 201 python on n2" for left in made.spared)


def test_pid_1_of_a_pod_is_never_a_target() -> None:
    made = stop_plan(seen(there=(process(1, 0, 1, role="rank", rank=1),)), ME)
    assert isinstance(made, Plan)
    assert made.elsewhere == ()


def test_a_node_that_cannot_be_seen_is_named_in_the_plan() -> None:
    health = {source_of("n3"): SourceHealth(source_of("n3"), problem="n3: no route to host"), source_of("n4"): SourceHealth("x")}
    made = stop_plan(replace(seen(), health=health), ME)
    assert isinstance(made, Plan)
    assert made.unseen == ("n3: no route to host", "n4 has not answered yet")


def answer(**more: object) -> LaunchReading:
    here = Launch(("torchrun", "--node-rank=0", "train.py"), "/runs", "/state/e", 100, 100, 1.0, "/runs/train.log")
    there = {"argv": WORDS, "cwd": "/runs", "output": "/runs/n2.log", **more}
    return LaunchReading(1, here, elsewhere=(NodeLaunch(on_node(1, 200), 200, **there),))  # type: ignore[arg-type]


def test_a_restart_starts_on_each_node_what_was_started_there() -> None:
    assert launch_ask(seen(), 5).elsewhere == ((on_node(1, 200), 200),)
    made = restart_plan(seen(), answer(), ME, None, ())
    assert isinstance(made, Plan)
    (part,) = made.elsewhere
    assert part.start is not None
    assert (part.start.argv, part.start.log, part.starts) == (WORDS, "/runs/n2.log", on_node(1, 200))
    assert made.word == ""
    changed = with_presets(made, presets()[:1], {"MY_OWN": "1"})
    start = changed.elsewhere[0].start
    assert start is not None
    assert changed.start is not None
    assert start.set_env == changed.start.set_env
    assert start.argv == WORDS


def test_what_a_command_here_starts_again_is_not_started_twice() -> None:
    made = restart_plan(seen(), answer(by=100), ME, None, ())
    assert isinstance(made, Plan)
    assert made.elsewhere[0].start is None
    assert made.word == ""


@pytest.mark.parametrize(
    ("launch", "why"),
    [
        ({"by": 99}, "nothing is started on n2: pid 99 here, which started it, is not ended"),
        ({"within": "srun"}, "nothing is started on n2: no srun of the run is seen here that started it: in /runs"),
    ],
)
def test_that_a_program_here_starts_it_again_is_believed_only_of_one_that_was_seen_and_ends(
    launch: dict[str, object], why: str
) -> None:
    made = restart_plan(seen(), answer(**launch), ME, None, ())
    assert isinstance(made, Plan)
    assert (made.elsewhere[0].start, made.word) == (None, "restart")
    assert made.warnings[-1].startswith(why)


def test_what_slurms_daemon_runs_was_started_by_the_runs_own_srun() -> None:
    srun, helper = process(100, 45, name="srun", role="launcher"), process(101, 100, name="srun", role="launcher")
    daemon = process(110, 1, name="slurmstepd", command="slurmstepd: [5.0]", role="launcher")
    here = (srun, helper, daemon, process(111, 110, role="rank", rank=0))
    assert launch_ask(seen(here), 5).pid == 100
    assert launch_ask(seen(here[2:]), 5).pid == 110, "nothing else of the run is seen to have started it"
    made = restart_plan(seen(here), answer(by=100), ME, None, ())
    assert isinstance(made, Plan)
    assert {target.pid for target in made.targets} == {100, 101, 110, 111}


def test_of_two_processes_there_both_must_have_been_started_from_here() -> None:
    answered = answer(by=100)
    second = NodeLaunch(on_node(1, 300), 300, WORDS, "/runs", "/runs/n2.log")
    made = restart_plan(seen(), replace(answered, elsewhere=(*answered.elsewhere, second)), ME, None, ())
    assert isinstance(made, Plan)
    assert (made.elsewhere[0].start, made.word) == (None, "restart")
    assert "2 separate processes" in made.warnings[-1]


def test_a_session_of_ssh_that_is_no_target_starts_nothing_there_again() -> None:
    other = process(60, 1, name="ssh", command="ssh n2", uid=7, user="bob")
    made = restart_plan(seen((*HERE, other)), answer(in_session=True), ME, None, ())
    assert isinstance(made, Refusal) or made.elsewhere[0].start is not None


def test_a_restart_says_that_ranks_go_on_which_nothing_ties_to_the_run_and_asks() -> None:
    made = restart_plan(seen(node=replace(NODE, tied=False)), answer(), ME, None, ())
    assert isinstance(made, Plan)
    assert (made.elsewhere, made.word) == ((), "restart")
    assert "on n2 goes on: nothing but --hosts ties it to this log" in made.warnings[-1]


def test_a_restart_says_that_a_named_node_has_nothing_of_the_run_and_asks() -> None:
    made = restart_plan(seen(there=()), answer(), ME, None, ())
    assert isinstance(made, Plan)
    assert made.word == "restart"
    assert made.warnings[-1] == "nothing of the run is seen on n2, so nothing is started there"


def test_a_restart_of_a_run_that_is_dead_here_says_which_node_cannot_be_seen_and_asks() -> None:
    health = {source_of("n3"): SourceHealth(source_of("n3"), problem="n3: no route to host")}
    made = restart_plan(replace(seen(here=()), health=health), answer(), ME, None, ())
    assert isinstance(made, Plan)
    assert made.word == "restart"
    assert "a node cannot be seen, so what runs there goes on: n3: no route to host" in made.warnings


@pytest.mark.parametrize(
    ("launch", "node", "why"),
    [
        ({"problem": "it has ended"}, NODE, "it has ended"),
        ({"output": ""}, NODE, "its output went to no file there"),
        ({}, replace(NODE, launcher="srun --jobid=7 {host} {probe}"), "scontrol requeue"),
    ],
)
def test_where_no_start_is_known_the_plan_says_so_and_wants_its_word(
    launch: dict[str, object], node: OtherNode, why: str
) -> None:
    made = restart_plan(seen(node=node), answer(**launch), ME, None, ())
    assert isinstance(made, Plan)
    assert made.elsewhere[0].start is None
    assert made.word == "restart"
    assert why in made.warnings[-1]


def test_a_session_of_ssh_that_may_be_one_of_ours_is_not_started_beside_it() -> None:
    here = (*HERE, process(102, 100, name="ssh", command="ssh n2 torchrun"))
    made = restart_plan(seen(here), answer(in_session=True), ME, None, ())
    assert isinstance(made, Plan)
    assert made.elsewhere[0].start is None
    assert "ssh here may start it again" in made.warnings[-1]


def test_a_run_that_is_dead_here_and_alive_there_is_ended_there_before_it_starts() -> None:
    made = restart_plan(seen(here=()), answer(), ME, None, ())
    assert isinstance(made, Plan)
    assert made.word == "restart"
    assert [target.pid for target in made.elsewhere[0].targets] == [on_node(1, 201), on_node(1, 200)]
    loose = restart_plan(seen(here=(), node=replace(NODE, tied=False)), answer(), ME, None, ())
    assert isinstance(loose, Plan)
    assert (loose.elsewhere, loose.word) == ((), "restart")
    assert "nothing but --hosts ties it" in loose.warnings[0]


def test_ranks_that_lost_their_parent_there_are_cleaned_up_there() -> None:
    orphan = process(201, 1, 1, role="rank", rank=1)
    child = process(202, 201, 1, role="data worker")
    writer = Writer(100, 1.0, "python", "python train.py", alive=False, gone_at=9_000.0)
    state = seen(here=(), there=(orphan, child), writers=(writer,))
    made = clean_plan(state, LeftoversReading(1), ME, NOW, 600.0)
    assert isinstance(made, Plan)
    assert made.targets == ()
    assert [target.pid for target in made.elsewhere[0].targets] == [on_node(1, 202), on_node(1, 201)]
    young = clean_plan(state, LeftoversReading(1), ME, 100.0, 600.0)
    assert isinstance(young, Refusal)
    tended = seen(here=(), there=THERE, writers=(writer,))
    assert isinstance(clean_plan(tended, LeftoversReading(1), ME, NOW, 600.0), Refusal)
