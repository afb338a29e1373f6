"""The plan to start a run again: the same command, and only the environment that was chosen changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import hangtop
from hangtop.actions.plans.presets import Option, Preset, presets, presets_for, with_option, with_presets
from hangtop.actions.plans.restart_plan import launch_ask, restart_plan, top
from hangtop.records.launch import Launch, LaunchReading
from hangtop.records.nodes import on_node
from hangtop.records.plan import OwnProcess, Plan, RayStart, Refusal, Start
from hangtop.records.process import Process, ProcessReading, Writer
from hangtop.records.ray.cluster import RayCluster, RayPart, RayReading
from hangtop.records.verdict import Verdict
from hangtop.render.plan_rows import rows
from hangtop.render.spans import plain
from hangtop.state.run_state import RunState
from hangtop.tui.dialogs.start_changes import StartChanges

ME = OwnProcess(pid=50, ancestors=frozenset({1, 40, 45}), uid=1000)
LAUNCH = Launch(("python", "main.py"), "/runs", "/state/e.environ", 100, 100, 1.0, "/runs/train.log")


def process(pid: int, ppid: int, **more: object) -> Process:
    given = {"started_at": 1.0, "name": "python", "uid": 1000, "command": "python main.py", "state": "S", **more}
    return Process(**{"pid": pid, "ppid": ppid, "start_ticks": pid, **given})  # type: ignore[arg-type]


def state(*processes: Process, **more: object) -> RunState:
    return RunState(procs=ProcessReading(processes=processes, **more))  # type: ignore[arg-type]


def test_the_top_is_what_a_person_started_not_rays_workers_nor_hangtops_runner() -> None:
    runner = process(90, 1, command="python -m hangtop.actions.execute.runner")
    known = state(runner, process(100, 90), process(101, 100, role="rank"), process(300, 7, role="ray worker"))
    first = top(known.procs)
    assert isinstance(first, Process)
    assert first.pid == 100
    ask = launch_ask(known, 5)
    assert (ask.pid, ask.start_ticks) == (100, 100)


def test_several_tops_are_refused_and_none_is_asked_of_the_log() -> None:
    refused = restart_plan(state(process(100, 7), process(200, 7)), LaunchReading(1, LAUNCH), ME, None, ())
    assert isinstance(refused, Refusal)
    assert "100, 200" in refused.why
    assert launch_ask(state(), 5).pid is None
    assert launch_ask(state(process(100, 1, state="Z")), 5).pid is None


def test_a_dead_run_is_only_started() -> None:
    made = restart_plan(state(), LaunchReading(1, LAUNCH), ME, None, ())
    assert isinstance(made, Plan)
    assert (made.title, made.targets) == ("Start the run again: attempt 2", ())
    assert made.start is not None
    assert (made.start.argv, made.start.cwd, made.start.log) == (LAUNCH.argv, "/runs", "/runs/train.log")


def test_a_start_beside_a_process_that_may_be_the_run_wants_its_word():
    note = "no process here is known to write the log; process 7 works in its folder: it may be the run"
    made = restart_plan(state(leads=(7,), note=note), LaunchReading(1, LAUNCH), ME, None, ())
    assert isinstance(made, Plan)
    assert (made.targets, made.word, made.warnings) == ((), "restart", (note,))


def test_what_goes_on_on_another_node_is_no_second_start_and_wants_its_word() -> None:
    there = process(on_node(1, 200), on_node(1, 7), role="rank", rank=3)
    first = top(state(process(100, 7), there).procs)
    assert isinstance(first, Process)
    assert first.pid == 100
    alone = ProcessReading(processes=(there,))
    left = RunState(here="n1", procs=alone, processes={"n1": ProcessReading(), "n2": alone})
    made = restart_plan(left, LaunchReading(1, LAUNCH), replace(ME, host="n1"), None, ())
    assert isinstance(made, Plan)
    assert made.word == "restart"
    assert "rank 3 on n2 is not stopped from here" in made.warnings[0]


def test_another_process_than_the_one_that_was_asked_about_is_refused() -> None:
    refused = restart_plan(state(process(100, 7, start_ticks=999)), LaunchReading(1, LAUNCH), ME, None, ())
    assert isinstance(refused, Refusal)


def test_presets_change_the_environment_alone_and_can_be_taken_back() -> None:
    made = restart_plan(state(process(100, 45)), LaunchReading(1, LAUNCH), ME, None, ())
    assert isinstance(made, Plan)
    chosen = with_presets(made, presets()[:2])
    assert chosen.start is not None
    assert chosen.start.set_env["NCCL_DEBUG"] == "INFO"
    assert chosen.start.argv == LAUNCH.argv
    assert with_presets(made, ()) == made


def test_a_run_that_works_wants_its_word_typed() -> None:
    works = Verdict("running", "output 3 s ago", "silence")
    made = restart_plan(state(process(100, 45)), LaunchReading(1, LAUNCH), ME, works, ())
    assert isinstance(made, Plan)
    assert made.word == "restart"
    hung = restart_plan(state(process(100, 45)), LaunchReading(1, LAUNCH), ME, Verdict("hung", "rank 3", "output"), ())
    assert isinstance(hung, Plan)
    assert hung.word == ""


def test_output_without_a_file_goes_to_the_watched_log_or_beside_one_that_the_run_writes_itself() -> None:
    nowhere = LaunchReading(1, Launch(LAUNCH.argv, "/runs", "e", 100, 100, 1.0))
    through_tee = Writer(100, 1.0, "python", "python main.py", paths=("/runs/a.log",), via="tee")
    itself = Writer(100, 1.0, "python", "python main.py", paths=("/runs/a.log",))
    for writer, log in ((through_tee, "/runs/a.log"), (itself, "/runs/a.log.out")):
        made = restart_plan(state(process(100, 45), writers=(writer,)), nowhere, ME, None, ("/runs/a.log",))
        assert isinstance(made, Plan)
        assert made.start is not None
        assert made.start.log == log
    for logs in ((), ("-",), ("/runs/*.log",), ("a", "b")):
        assert isinstance(restart_plan(state(process(100, 45)), nowhere, ME, None, logs), Refusal)


def test_presets_have_one_line_each_and_fit_their_frameworks() -> None:
    ids = [preset.id for preset in presets()]
    assert len(ids) == len(set(ids))
    assert all((preset.env or preset.options) and "\n" not in preset.does for preset in presets())
    for named in (preset.frameworks + preset.unless for preset in presets()):
        assert set(named) <= FRAMEWORKS
    assert "vllm" not in fitting("torchrun")
    assert "vllm" in fitting("verl")
    assert "deepspeed" not in fitting("openrlhf", "deepspeed")


FRAMEWORKS = {path.stem for path in (Path(hangtop.__file__).parent / "logs/catalog/profiles").glob("*.toml")}


def fitting(*frameworks: str, argv: str = "python main.py") -> set[str]:
    return {
        preset.id
        for preset in presets_for(frozenset(frameworks), Start(tuple(argv.split()), "/", "/x.log", interfaces=("eth0", "ib0")))
    }


def test_digits_choose_nine_presets_at_a_time_and_zero_shows_the_next() -> None:
    made = replace(started("python -m verl.trainer.main_ppo"), warnings=())
    given = StartChanges(made, lambda start: presets_for(frozenset({"verl", "vllm", "ray"}), start))
    seen: list[str] = []
    while len(seen) < len(given.presets):
        assert 0 < len(given.page) <= 9
        assert len(given.page) + given.others == len(given.presets)
        seen += [preset.id for preset in given.page]
        given.press(0)
    assert seen == [preset.id for preset in given.presets]
    assert given.page == given.presets[:9]
    given.press(1)
    given.press(0)
    given.press(9)  # there may be none with that number: nothing happens
    assert presets()[0].id in given.chosen


@pytest.mark.parametrize("framework", ["gkd", "gkd_patched"])
def test_each_of_the_two_pools_of_gkd_can_be_made_small_alone(framework: str) -> None:
    known = {
        preset.id: preset
        for preset in presets_for(frozenset({framework, "verl", "ray", "vllm"}), started("python main_gkd.py").start)
    }
    assert "verl_small" not in known
    both = "trainer.nnodes=1 trainer.n_gpus_per_node=1 rollout.nnodes=1 rollout.n_gpus_per_node=1".split()
    for id_, options in (("gkd_small", both), ("gkd_actor", both[:2]), ("gkd_rollout", both[2:])):
        made = with_presets(started("python main_gkd.py rollout.n_gpus_per_node=4"), [known[id_]])
        assert list(made.start.changed) == options
        assert ("rollout.n_gpus_per_node=1" in made.start.argv) == ("rollout.n_gpus_per_node=1" in options)


def test_tests_of_nccl_and_longer_limits_fit_every_run_that_they_are_for() -> None:
    for framework in FRAMEWORKS:
        assert {"no_ib", "no_p2p", "no_shm", "interface", "heartbeat_longer"} <= fitting(framework)
    longer = {"verl": "verl_longer", "gkd": "verl_longer", "hf": "hf_longer", "megatron": "megatron_longer"}
    longer |= {"deepspeed": "deepspeed_longer", "vllm": "vllm_longer", "sglang": "sglang_longer"}
    for framework, id_ in longer.items():
        assert id_ in fitting(framework)


def test_the_network_interface_is_that_of_the_default_route_and_left_out_where_none_is_known() -> None:
    made = started("python t.py")
    assert with_presets(made, [by_id("interface")]).warnings == ("network interface: no network interface is known",)
    known = replace(made, start=replace(made.start, interfaces=("eth0", "ib0")))
    chosen = with_presets(known, [by_id("interface")])
    assert chosen.start.set_env == {"NCCL_SOCKET_IFNAME": "=eth0", "GLOO_SOCKET_IFNAME": "eth0"}
    (offered,) = [preset for preset in presets_for(frozenset(), known.start) if preset.id == "interface"]
    assert "over eth0 alone (of eth0, ib0)" in offered.does
    own = with_presets(known, [by_id("interface")], {"NCCL_SOCKET_IFNAME": "ib0"})
    assert own.start.set_env["NCCL_SOCKET_IFNAME"] == "ib0"


@pytest.mark.parametrize(
    ("argv", "option", "after"),
    [
        ("python sft.py --ddp_timeout 1800 --bf16", Option("--ddp_timeout", "300"), "python sft.py --ddp_timeout 300 --bf16"),
        ("python sft.py --ddp-timeout=1800", Option("--ddp_timeout", "300"), "python sft.py --ddp-timeout=300"),
        ("torchrun t.py", Option("--ddp_timeout", "300"), "torchrun t.py --ddp_timeout 300"),
        ("torchrun t.py", Option("--nproc_per_node", "2", add=False), None),
        ("torchrun --nproc-per-node=gpu t.py", Option("--nproc_per_node", "2", add=False), "torchrun --nproc-per-node=2 t.py"),
        ("bash run.sh", Option("--ddp_timeout", "300"), None),
        ("env A=1 nohup bash run.sh", Option("--ddp_timeout", "300"), None),
        ("/bin/bash run.sh --ddp_timeout 9", Option("--ddp_timeout", "300"), "/bin/bash run.sh --ddp_timeout 300"),
        ("python -m x +a.b=1 c=2", Option("a.b", "3", style="hydra"), "python -m x +a.b=3 c=2"),
        ("python -m x c=2", Option("a.b", "3", style="hydra"), "python -m x c=2 ++a.b=3"),
        ("python -m x --a.b=2", Option("a.b", "3", style="hydra"), "python -m x --a.b=2 ++a.b=3"),
        ("python t.py --lr_ddp_timeout 1", Option("--ddp_timeout", "3", add=False), None),
    ],
)
def test_an_option_is_changed_where_it_stands_or_added(argv: str, option: Option, after: str | None) -> None:
    changed = with_option(tuple(argv.split()), option)
    assert (None if changed is None else " ".join(changed)) == after


def by_id(name: str) -> Preset:
    return next(preset for preset in presets() if preset.id == name)


def started(argv: str, visible: str | None = None) -> Plan:
    return Plan("restart", "again", start=Start(tuple(argv.split()), "/runs", "/runs/train.log", visible_devices=visible))


def test_two_ranks_take_the_first_two_gpus_that_the_run_had_and_nobody_elses() -> None:
    made = with_presets(started("torchrun --nproc_per_node 4 t.py", "4,5,6,7"), [by_id("two_ranks")])
    assert made.start is not None
    assert made.start.set_env == {"CUDA_VISIBLE_DEVICES": "4,5"}
    assert made.start.argv == ("torchrun", "--nproc_per_node", "2", "t.py")
    assert made.start.usual_argv == ("torchrun", "--nproc_per_node", "4", "t.py")
    assert made.start.changed == ("--nproc_per_node 2",)
    alone = with_presets(started("python t.py"), [by_id("two_ranks")])
    assert alone.start == started("python t.py").start
    assert "--nproc_per_node" in alone.warnings[0]


def test_what_a_script_cannot_be_given_is_said_and_not_added() -> None:
    made = with_presets(started("bash run.sh"), [by_id("hf_timeout")])
    assert made.start == started("bash run.sh").start
    assert made.warnings == ("Trainer gives up after 5 min: the command is a script, so set --ddp_timeout 300 in it yourself",)


def test_changed_options_are_shown_verbatim_beside_the_whole_command() -> None:
    made = with_presets(started("python -m verl.trainer.main_ppo"), [by_id("verl_timeout")])
    shown = "\n".join(plain(row) for row in rows(made, 200))
    assert "changed  actor_rollout_ref.nccl_timeout=180" in shown
    assert "python -m verl.trainer.main_ppo ++actor_rollout_ref.nccl_timeout=180" in shown


def test_variables_for_workers_of_a_ray_that_goes_on_are_said_to_reach_the_driver_alone() -> None:
    made = restart_plan(state(process(100, 45)), LaunchReading(1, LAUNCH), ME, None, ())
    assert isinstance(made, Plan)
    assert made.start is not None
    on_ray = replace(made, start=replace(made.start, ray="session_1"))
    (said,) = with_presets(on_ray, (), {"NCCL_IB_DISABLE": "1"}).warnings
    assert said.startswith("NCCL_IB_DISABLE: for the driver alone")
    assert "session_1" in said
    assert "hangtop recover" in said
    assert with_presets(on_ray, (), {}).warnings == ()
    assert with_presets(made, (), {"NCCL_IB_DISABLE": "1"}).warnings == ()


def test_ray_that_is_started_again_gets_the_variables_but_those_that_it_gives_itself() -> None:
    made = restart_plan(state(process(100, 45)), LaunchReading(1, LAUNCH), ME, None, ())
    assert isinstance(made, Plan)
    ray = RayStart(("ray", "start", "--head"), "/", "e.environ", "127.0.0.1:6379", away=2)
    chosen = with_presets(replace(made, ray=(ray,)), (), {"NCCL_DEBUG": "INFO", "CUDA_VISIBLE_DEVICES": "0"})
    assert chosen.ray[0].set_env == {"NCCL_DEBUG": "INFO"}
    assert "NCCL_DEBUG: 2 nodes elsewhere are joined by hand" in chosen.warnings[0]
    assert "  NCCL_DEBUG=INFO" in [plain(row) for row in rows(chosen, 200)]


def test_the_ray_that_goes_on_is_one_that_the_run_has_not_started_itself() -> None:
    beside = RayCluster("session_1", addresses=("127.0.0.1:6379",), parts=(RayPart("raylet", 300, 1.0),))
    for parent, left in ((1, "session_1"), (100, "")):
        procs = ProcessReading(processes=(process(100, 45), process(300, parent, role="ray daemon")))
        known = RunState(procs=procs, ray={"n1": RayReading((beside,), named=True)})
        made = restart_plan(known, LaunchReading(1, LAUNCH), ME, None, ())
        assert isinstance(made, Plan)
        assert made.start is not None
        assert made.start.ray == left
