"""What several sources say of a rank stands in one record."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.members.rank_gpus import ranks_on
from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.probe.processes.run_members import gpu_numbers
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading
from hangtop.records.log import LogReading, RankLog
from hangtop.records.process import Process, ProcessReading, RecentActivity, Rendezvous
from hangtop.records.rank import Rank
from hangtop.records.ray.cluster import RayActor, RayCluster, RayReading
from hangtop.records.reading import Reading, Value
from hangtop.records.stack import Frame, Stack, StacksReading, Thread
from hangtop.state.run_state import RunState, fold
from hangtop.system.processes.table import OpenFile


def state_of(*values: Value, host: str = "n1", state: RunState | None = None) -> RunState:
    state = state or RunState()
    for value in values:
        state = fold(state, Reading("test", host, 100.0, value))
    return state


def logs(*ranks: RankLog) -> LogReading:
    return LogReading(files=(), ranks=ranks)


def process(pid: int, rank: int | None, state: str = "S", **more: object) -> Process:
    return Process(pid, 50.0, pid * 10, 1, "python", "python train.py", state, "rank", rank, **more)  # type: ignore[arg-type]


def only(state: RunState) -> Rank:
    (rank,) = join_ranks(state)
    return rank


@pytest.mark.parametrize("order", [(7, 8), (8, 7)])
def test_a_stray_child_with_the_number_of_its_rank_does_not_stand_for_it(order: tuple[int, int]) -> None:
    table = {7: replace(process(7, 3, "T"), ppid=5), 8: process(8, 3)}
    assert only(state_of(ProcessReading(processes=tuple(table[pid] for pid in order)))).pid == 7


def test_of_the_log_alone_each_rank_has_its_lag_behind_the_furthest() -> None:
    ranks = join_ranks(state_of(logs(RankLog(1, step=7, total=9, last_at=90.0), RankLog(0, step=10), RankLog(2))))
    assert [(rank.rank, rank.lag, rank.pid, rank.state) for rank in ranks] == [
        (0, 0, None, None),
        (1, 3, None, None),
        (2, None, None, None),
    ]
    assert ranks[1].why == "3 steps behind"
    assert ranks[1].silence_s(100.0) == 10.0
    assert ranks[0].silence_s(100.0) is None


def test_a_rank_that_never_wrote_is_known_by_its_process() -> None:
    rank = only(state_of(ProcessReading(processes=(process(7, 3, cpu_percent=99.0, world=8),))))
    assert (rank.rank, rank.world, rank.pid, rank.host, rank.state, rank.cpu_percent) == (3, 8, 7, "n1", "S", 99.0)


def test_log_and_process_meet_by_rank_and_by_pid_where_the_environment_is_hidden() -> None:
    hidden = Process(7, 50.0, 70, 1, "python", "python train.py", "D", "other", None)
    state = state_of(logs(RankLog(0, pid=7, step=4), RankLog(1)), ProcessReading(processes=(hidden, process(8, 1))))
    assert [(rank.rank, rank.pid, rank.state, rank.step) for rank in join_ranks(state)] == [(0, 7, "D", 4), (1, 8, "S", None)]


def test_a_rank_that_was_started_again_is_the_living_process() -> None:
    ended = process(7, 0, "X", exit_code=-9)
    assert only(state_of(ProcessReading(processes=(process(9, 0),), ended=(ended,)))).pid == 9
    gone = only(state_of(ProcessReading(ended=(ended,))))
    assert (gone.state, gone.doing, gone.why) == ("X", "killed by SIGKILL", "its process ended: killed by SIGKILL")


@pytest.mark.parametrize(
    ("process", "doing", "why"),
    [
        (process(7, 0, "Z", exit_code=7), "zombie, exit code 7", "its process ended: exit code 7"),
        (process(7, 0, "T"), "stopped", "stopped"),
        (process(7, 0, "t", tracer_pid=5), "held by a debugger (pid 5)", "held by a debugger (pid 5)"),
        (
            process(7, 0, "D", wchan="rpc_wait_bit", recent=RecentActivity(30, 30, 0.0, 1.0, "rpc_wait_bit", 0.0, 0.0)),
            "blocked in rpc_wait_bit",
            "blocked in rpc_wait_bit",
        ),
        (
            process(7, 0, "D", wchan="folio_wait", recent=RecentActivity(30, 30, 0.0, 1.0, "folio_wait", 22.0, 3e9)),
            "blocked in folio_wait",
            None,
        ),
        (process(7, 0, "D", wchan="x", recent=RecentActivity(1, 2, 0.0, 1.0, "x", 0.0, 0.0)), "blocked in x", None),
        (process(7, 0, "S"), None, None),
    ],
)
def test_a_rank_stands_out_by_its_process(process: Process, doing: str | None, why: str | None) -> None:
    rank = only(state_of(ProcessReading(processes=(process,))))
    assert (rank.doing, rank.why) == (doing, why)


def test_who_has_not_joined_stands_out_only_when_others_have() -> None:
    both = (process(7, 0), process(8, 1))
    met = Rendezvous("n1", 29500, 2, True, 1, joined=(0,), missing=(1,))
    nobody = Rendezvous("n1", 29500, 2, True, 0, joined=(), missing=(0, 1))
    ranks = join_ranks(state_of(ProcessReading(processes=both, rendezvous=met)))
    assert [rank.why for rank in ranks] == [None, "has not joined its peers at the master port"]
    assert [rank.why for rank in join_ranks(state_of(ProcessReading(processes=both, rendezvous=nobody)))] == [None, None]
    trains = logs(RankLog(0, step=4), RankLog(1, step=4))
    assert [rank.why for rank in join_ranks(state_of(trains, ProcessReading(processes=both, rendezvous=met)))] == [None, None]


def test_the_gpu_is_the_one_where_the_rank_or_its_engine_holds_most_memory() -> None:
    engine = Process(9, 50.0, 90, 7, "VLLM", "VLLM::EngineCore", "S", "engine core", 0)
    gpus = GpuReading(
        gpus=(
            Gpu(0, processes=(GpuProcess(7, 500),)),
            Gpu(3, processes=(GpuProcess(7, 500), GpuProcess(9, 4_000), GpuProcess(1, 9_000))),
        )
    )
    assert only(state_of(gpus, ProcessReading(processes=(process(7, 0), engine)))).gpu == 3


@pytest.mark.parametrize(
    ("visible", "devices", "gpu"),
    [
        ("2", (), 2),
        ("GPU-ab", (), 5),
        ("0,1", (), None),
        (None, (6,), 5),
        (None, (0, 1, 2), None),
        ("", (), None),
        (None, (), None),
    ],
)
def test_without_its_memory_the_gpu_is_known_only_when_there_is_no_choice(
    visible: str | None, devices: tuple[int, ...], gpu: int | None
) -> None:
    node = GpuReading(gpus=(Gpu(5, uuid="GPU-abcd", minor=6),))
    assert only(state_of(node, ProcessReading(processes=(process(7, 0, visible_devices=visible, devices=devices),)))).gpu == gpu


@pytest.mark.parametrize(
    ("opened", "local_rank", "gpu"),
    [
        pytest.param([0, 1, 1, 1, 2], None, 1, id="held most often"),
        pytest.param([0, 1, 2], None, None, id="all alike"),
        pytest.param([0, 1, 2], 2, 2, id="all alike, and its local rank names one of them"),
        pytest.param([0, 1], 2, None, id="the one of its local rank is not open"),
        pytest.param([], 2, None, id="it has no GPU open: it runs on the CPU"),
    ],
)
def test_in_a_container_the_gpu_is_told_by_the_files_that_a_rank_holds(
    opened: list[int], local_rank: int | None, gpu: int | None
) -> None:
    files = tuple(OpenFile(fd, f"/dev/nvidia{minor}", writable=True) for fd, minor in enumerate(opened, 5))
    node = GpuReading(
        gpus=tuple(Gpu(index, minor=index, processes=(GpuProcess(4_000, 500, visible=False),)) for index in range(3))
    )
    rank = process(7, 2, devices=gpu_numbers((*files, OpenFile(4, "/dev/nvidiactl", writable=True))), local_rank=local_rank)
    assert only(state_of(node, ProcessReading(processes=(rank,)))).gpu == gpu


def test_the_same_pid_on_two_hosts_is_two_ranks() -> None:
    state = state_of(ProcessReading(processes=(process(7, 0),)), host="n1")
    state = state_of(ProcessReading(processes=(process(7, 1),)), host="n2", state=state)
    assert [(rank.rank, rank.pid, rank.host) for rank in join_ranks(state)] == [(0, 7, "n1"), (1, 7, "n2")]


def test_a_rank_of_a_node_whose_gpus_nobody_reads_is_on_no_gpu_of_the_node_whose_gpus_are_read() -> None:
    gpus = GpuReading(gpus=(Gpu(0), Gpu(1)))
    state = state_of(gpus, ProcessReading(processes=(process(7, 0, visible_devices="0"),)), host="n1")
    state = state_of(ProcessReading(processes=(process(8, 1, visible_devices="0"),)), host="n2", state=state)
    assert ranks_on(join_ranks(state), state, "n1") == {0: (0,)}
    renamed = state_of(logs(RankLog(0, host="10.0.0.1")), state=state)
    assert ranks_on(join_ranks(renamed), renamed, "n1") == {0: (0,)}, "the log may call the machine by another name"


def test_a_ray_worker_says_its_actor_and_method_in_its_title() -> None:
    worker = Process(7, 50.0, 70, 1, "ray::WorkerDict", "ray::WorkerDict.update_actor", "S", "rank", 2)
    rank = only(state_of(ProcessReading(processes=(worker,))))
    assert (rank.actor, rank.doing) == ("WorkerDict", "trains: update_actor")


def test_what_ray_knows_of_an_actor_without_a_process_here_is_joined() -> None:
    actor = RayActor("WorkerDict", "running", method="generate", rank=4, world=8, host="n2", ray_pid=77, gpus=(3,))
    ray = RayReading(clusters=(RayCluster("session_1", actors=(actor,)),), named=True)
    rank = only(state_of(LogReading(files=(), profiles=("verl", "ray")), ray))
    assert (
        join_ranks(state_of(LogReading(files=(), profiles=("verl", "ray")), RayReading(ray.clusters))) == ()
    )  # not proven to be this run's
    assert (rank.rank, rank.world, rank.host, rank.gpu, rank.actor, rank.doing) == (4, 8, "n2", 3, "WorkerDict", "generate")


def test_what_it_does_comes_from_the_latest_stack_of_this_very_process() -> None:
    def look(ask: int, function: str, started_ticks: int) -> StacksReading:
        frames = (Frame(function, "/home/me/train.py", 12), Frame("<module>", "/home/me/train.py", 90))
        stack = Stack(7, 99.0, (Thread("MainThread", frames, tid=7, state="S"),), rank=0, started_ticks=started_ticks)
        return StacksReading(ask=ask, stacks=(stack,), done=True)

    state = state_of(ProcessReading(processes=(process(7, 0),)), look(1, "load_shard", 70), look(2, "compute_reward", 70))
    assert "compute_reward" in (only(state).doing or "")
    reused = state_of(ProcessReading(processes=(process(7, 0),)), look(1, "load_shard", 1))
    assert only(reused).doing is None


@pytest.mark.parametrize(("spoke_at", "holds"), [(90.0, True), (100.0, True), (500.0, False)])
def test_a_stack_from_before_the_run_last_spoke_says_nothing_of_now(spoke_at: float, holds: bool) -> None:
    frames = (Frame("load_shard", "/home/me/train.py", 12),)
    look = StacksReading(ask=1, stacks=(Stack(7, 99.0, (Thread("MainThread", frames, tid=7, state="S"),)),), done=True)
    log = LogReading(files=(), last_output_at=spoke_at)
    assert (only(state_of(log, ProcessReading(processes=(process(7, 0),)), look)).doing is not None) is holds


def test_a_rank_in_d_that_moves_bytes_does_what_its_method_says() -> None:
    loads = replace(process(7, 0, "D", read_b_s=2e8), command="ray::WorkerDict.init_model")
    rank = only(state_of(ProcessReading(processes=(loads,))))
    assert (rank.doing or "").endswith("init_model")
    assert rank.shorter == ("init_model",)


@pytest.mark.parametrize(
    ("state", "code", "forms"), [("Z", -9, ("killed by SIGKILL", "SIGKILL")), ("X", 1, ("exit code 1", "exit code 1"))]
)
def test_how_a_rank_ended_has_room_in_a_narrow_table(state: str, code: int, forms: tuple[str, ...]) -> None:
    assert only(state_of(ProcessReading(processes=(process(7, 0, state, exit_code=code),)))).shorter == forms
