"""Where ranks stand in tensor and pipeline groups: as logs, arguments and titles of real frameworks name them."""

from __future__ import annotations

import pytest

from hangtop.logs.catalog.load import load
from hangtop.logs.digest import Digest
from hangtop.logs.joined_logs import join_logs
from hangtop.records.parallel_layout import by_arguments, by_title, place_words, places

CATALOG = load()
MEGATRON = "using world size: 8, data-parallel size: 1, {} tensor-model-parallel size: 4, pipeline-model-parallel size: 2"


def placed(text: str, world: int) -> dict[int, str]:
    digest = Digest(CATALOG, 0)
    digest.feed(text.encode() + b"\n")
    mesh = join_logs([digest.facts()], [], CATALOG).mesh
    return {} if mesh is None else {rank: place_words(place) for rank, place in places(mesh, world).items()}


@pytest.mark.parametrize(
    "line",
    [
        MEGATRON.format("context-parallel size: 1, hierarchical context-parallel sizes: None,"),
        MEGATRON.format("context-parallel size: 1,"),
        "using world size: 8, data-parallel-size: 1, tensor-model-parallel size: 4, pipeline-model-parallel size: 2 ",
        "[titan] 2026-01-11 10:00:00,123 - root - INFO - Building 2-D device mesh with ['pp', 'tp'], [2, 4]",
        "mesh: DeviceMesh((pp=2, tp=4), 'cpu', stride=(4, 1))",
        "[rank0]: parallel sizes: dp=1 tp=4 pp=2",
        "Distributed environment is initialized, data parallel size: 1, pipeline parallel size: 2, tensor parallel size: 4",
        "Using topology: {"
        + ", ".join(f"ProcessCoord(pipe={rank // 4}, data=0, model={rank % 4}): {rank}" for rank in range(8))
        + "}",
        "\n".join(f"rank {rank}: pp={rank // 4} tp={rank % 4}" for rank in range(8)),
        "\n".join(f"setting up rank {rank} at pp={rank // 4}, tp={rank % 4}" for rank in range(8)),
        "All tensor model parallel group ranks: [[0, 1, 2, 3], [4, 5, 6, 7]]\n"
        "All pipeline model parallel group ranks: [[0, 4], [1, 5], [2, 6], [3, 7]]",
        "\n".join(
            f"(Worker_TP{rank % 4} pid={rank}) INFO 03-05 09:12:33 [parallel_state.py:1134] rank {rank} in world size 8 is "
            f"assigned as DP rank 0, PP rank {rank // 4}, TP rank {rank % 4}, EP rank 0"
            for rank in range(8)
        ),
    ],
)
def test_tensor_and_pipeline_groups_are_read_from_the_log(line: str) -> None:
    assert placed(line, 8) == {rank: f"pp{rank // 4} tp{rank % 4}" for rank in range(8)}


def test_a_place_in_the_log_of_each_rank() -> None:
    digests = [Digest(CATALOG, rank, rank=rank) for rank in range(4)]
    for rank, digest in enumerate(digests):
        digest.feed(f"groups: pp={rank // 2} tp={rank % 2}\n".encode())
    mesh = join_logs([digest.facts() for digest in digests], [], CATALOG).mesh
    assert mesh is not None
    assert {rank: place_words(place) for rank, place in places(mesh, 4).items()}[3] == "pp1 tp1"


def test_data_groups_are_what_is_left_of_the_world() -> None:
    assert placed("[rank0]: tp=2 pp=2", 8)[5] == "pp1 dp0 tp1"


def test_sizes_that_do_not_make_up_the_world_are_nobodys() -> None:
    assert placed("Building 2-D device mesh with ['pp', 'tp'], [2, 4]", 6) == {}


def test_megatron_can_count_through_pipeline_stages_before_replicas() -> None:
    line = "using world size: 8, data-parallel size: 2, context-parallel size: 1, tensor-model-parallel size: 2, "
    text = f"{line}pipeline-model-parallel size: 2\n  use_tp_pp_dp_mapping ............................ True"
    assert placed(text, 8)[4] == "dp1 pp0 tp0"
    assert placed(line + "pipeline-model-parallel size: 2", 8)[4] == "pp1 dp0 tp0"


def test_the_groups_of_an_engine_inside_a_trainer_are_not_those_of_the_run() -> None:
    trainer = "(TaskRunner pid=7) {'actor_rollout_ref': {}}\nverl.trainer.main_ppo\n(WorkerDict pid=8) actor/pg_loss:0.1 - x"
    engine = "rank 1 in world size 2 is assigned as DP rank 0, PP rank 0, TP rank 1, EP rank 0"
    other = engine.replace("rank 1", "rank 0").replace("TP rank 1", "TP rank 0")
    assert placed(f"{trainer}\n{engine}\n{other}", 2) == {}


@pytest.mark.parametrize(
    "command",
    [
        "python pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --expert-tensor-parallel-size 1",
        "python train.py --parallelism.tensor_parallel_degree=4 --parallelism.pipeline_parallel_degree=2",
        "python train.py model.tensor_model_parallel_size=4 +model.pipeline_model_parallel_size=2",
        "python serve.py --tp-size 4 --pp 2 --num-layers-per-virtual-pipeline-stage 3",
    ],
)
def test_arguments_of_the_ranks_name_their_groups(command: str) -> None:
    assert place_words(places(by_arguments([command] * 8), 8)[5]) == "pp1 tp1"


def test_what_a_rollout_engine_is_given_is_not_the_trainers() -> None:
    assert by_arguments(["python main_ppo.py actor_rollout_ref.rollout.tensor_model_parallel_size=2"]).sizes == {}


def test_sequence_groups_of_ulysses_are_the_fastest() -> None:
    mesh = by_arguments(["python main_ppo.py actor_rollout_ref.actor.ulysses_sequence_parallel_size=2"])
    assert place_words(places(mesh, 4)[3]) == "dp1 sp1"


def test_a_command_line_that_is_cut_says_nothing() -> None:
    assert by_arguments(["python a.py --tensor-model-parallel-size 2 --data-pa…"]).sizes == {}


def test_arguments_that_differ_say_nothing() -> None:
    assert by_arguments(["python a.py --tp 2", "python a.py --tp 4"]).sizes == {}


def test_titles_of_engine_workers_hold_their_place() -> None:
    assert by_title("sglang::scheduler_PP1_TP3_EP0") == {"pp": 1, "tp": 3, "ep": 0}
    assert by_title("VLLM::Worker_DP0_TP1") == {"dp": 0, "tp": 1}
    assert by_title("python train_TP1.py") == {}
