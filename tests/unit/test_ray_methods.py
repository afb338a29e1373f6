"""Which method of which framework means which stage."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.diagnosis.status.ray_methods import in_words, meaning, methods, stage
from hangtop.logs.catalog.load import load
from hangtop.records.process import Process, ProcessReading
from hangtop.records.reading import Reading
from hangtop.state.run_state import RunState, fold

OWN_STAGES = {"experience", "teacher", "checkpoint_load"}
"""Stages that no log line tells; titles alone do."""


@pytest.mark.parametrize(
    ("cls", "name", "expected"),
    [
        ("WorkerDict", "actor_rollout_generate_sequences", "rollout"),
        ("WorkerDict", "actor_rollout_update_actor", "train_loop"),
        ("WorkerDict", "ref_compute_ref_log_prob", "experience"),
        ("WorkerDict", "critic_update_critic", "train_loop"),
        ("WorkerDict", "rollout_sync_rollout_weights", "weight_sync"),
        ("WorkerDict", "actor_save_checkpoint", "checkpoint"),
        ("WorkerDict", "actor_load_checkpoint", "checkpoint_load"),
        ("WorkerDict", "rollout_init_model", "actor_init"),
        ("PolicyModelActor", "fit", "train_loop"),
        ("RolloutRayActor", "generate", "rollout"),
        ("RewardModelActor", "forward", "experience"),
        ("SelfPlayWorker", "rollout", "rollout"),
        ("RolloutManager", "generate", "rollout"),
        ("RolloutManager", "eval", "validation"),
        ("MegatronTrainRayActor", "train", "train_loop"),
        ("MegatronTrainRayActor", "init", "actor_init"),
        ("SGLangEngine", "init", "rollout_init"),
        ("SGLangEngine", "update_weights_from_distributed", "weight_sync"),
        ("ActorWorker", "compute_log_probs", "experience"),
        ("InferWorker", "initialize", "rollout_init"),
        ("TeacherWorker", "forward", "teacher"),
        ("EnvironmentWorker", "run_rollout_loop", "rollout"),
        ("MegatronPolicyWorkerBase", "forward_backward", "train_loop"),
        ("FSDPPolicyWorkerBase", "broadcast_to_inference_engines", "weight_sync"),
        ("DTensorPolicyWorkerV2", "get_reference_policy_logprobs", "experience"),
        ("VllmAsyncGenerationWorker", "update_weights_from_collective_async", "weight_sync"),
        ("vLLMHttpServer", "wait_for_requests_to_drain", "weight_sync"),
        ("MathEnvironment", "step", "experience"),
        ("RolloutManager", "offload", None),
        ("RayRPCServer", "call", None),
        ("Anything", "train", None),
        ("Anything", "init", None),
        ("Anything", "__init__", "actor_init"),
        ("PPOTrainer", "fit", None),
        ("Anything", "fit", None),
        ("Anything", "generate", None),
        ("Anything", "my_own_method", None),
    ],
)
def test_a_method_tells_the_stage(cls, name, expected):
    assert stage(cls, name) == expected


def test_words_stand_before_the_method_and_an_unknown_one_stands_for_itself():
    assert in_words("WorkerDict", "actor_rollout_update_actor") == "trains: actor_rollout_update_actor"
    assert in_words("Anything", "my_own_method") == "my_own_method"
    known = meaning("PPOTrainer", "fit")
    assert known is not None
    assert known.says == "leads the run"


def test_every_stage_is_one_that_a_profile_or_this_file_knows():
    known = {stage.id for profile in load().profiles.values() for stage in profile.stage} | OWN_STAGES
    assert {method.stage for method in methods() if method.stage} <= known


def test_no_name_stands_twice_for_the_same_class():
    seen = [(name, cls) for method in methods() for name in method.names for cls in (method.classes or {""})]
    assert len(seen) == len(set(seen))


def test_the_title_of_a_rank_s_process_tells_its_stage_and_what_it_does():
    process = Process(7, 50.0, 70, 1, "ray::WorkerDict", "ray::WorkerDict.actor_rollout_generate_sequences", "S", "rank", 2)
    state = fold(RunState(), Reading("procs", "n1", 60.0, ProcessReading(processes=(process,))))
    (rank,) = join_ranks(state)
    assert (rank.stage, rank.doing) == ("rollout", "generates: actor_rollout_generate_sequences")
