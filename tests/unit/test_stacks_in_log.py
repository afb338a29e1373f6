"""Stacks that people print into a log that fell silent: where they part, and who can only end its wait by itself."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import Snapshot, take_snapshot
from hangtop.records.health import SourceHealth
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.state.run_state import RunState
from tests.corpus.score import NOW, read

SPEC = WatchSpec(logs=("train.log",))
STEPS = "step 40/400 loss 2.31\nstep 41/400 loss 2.30\n"


def seen(log: str) -> tuple[Snapshot, Verdict]:
    """Of a log that was written to four hours ago."""
    reading = read(log.encode(), 4 * 3600.0)
    state = RunState(log=reading, tail=reading.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    return take_snapshot(state, SPEC, NOW), diagnose(state, SPEC, NOW)


def first_cause(log: str) -> str:
    return advice(*seen(log))[0].cause


def accused(log: str) -> list[tuple[int | None, int | None]]:
    return [(culprit.rank, culprit.pid) for culprit in seen(log)[1].culprits]


def py_spy(pid: int, title: str, *frames: str, state: str = "idle") -> str:
    return "\n".join(
        (f"Process {pid}: {title}", "", f'Thread {pid} ({state}): "MainThread"', *(f"    {each}" for each in frames), "\n")
    )


C10D = "torch/distributed/distributed_c10d.py"
TENSOR_PARALLEL = "".join(
    py_spy(900 + part, f"VLLM::Worker_TP{part}", *frames)
    for part, frames in enumerate(
        [
            (f"broadcast ({C10D}:2830)", "broadcast_tensor_dict (vllm/distributed/parallel_state.py:790)"),
            (f"all_gather ({C10D}:3800)", "_all_gather_base (vllm/model_executor/layers/vocab.py:61)"),
            (f"broadcast ({C10D}:2830)", "broadcast_tensor_dict (vllm/distributed/parallel_state.py:790)"),
            (f"broadcast ({C10D}:2830)", "broadcast_tensor_dict (vllm/distributed/parallel_state.py:790)"),
        ]
    )
)
SAVES_ALONE = "".join(
    f"[rank{rank}]: Timeout (0:30:00)!\n[rank{rank}]: Thread 0x00007f44deadb740 (most recent call first):\n"
    f'[rank{rank}]:   File "/opt/lib/python3.11/site-packages/{C10D}", line 4090 in {call}\n'
    f'[rank{rank}]:   File "/app/train.py", line {line} in {function}\n'
    for rank, call, line, function in [
        (0, "gather_object", 210, "save_sharded"),
        (1, "barrier", 230, "train"),
        (2, "barrier", 230, "train"),
    ]
)
TWO_RANKS = py_spy(71, "python finetune.py (rank 0)", f"barrier ({C10D}:3700)", "evaluate (finetune.py:90)") + py_spy(
    72, "python finetune.py (rank 1)", f"all_reduce ({C10D}:2810)", "average_loss (finetune.py:61)"
)


@pytest.mark.parametrize(
    ("log", "whom"),
    [(TENSOR_PARALLEL, [(1, 901)]), (SAVES_ALONE, [(0, None)]), (TWO_RANKS, [])],
    ids=["tensor parallel", "saves alone", "of two nobody is the odd one"],
)
def test_stacks_in_different_collectives_are_told_as_ranks_that_parted(
    log: str, whom: list[tuple[int | None, int | None]]
) -> None:
    assert "the ranks parted" in first_cause(STEPS + log)
    assert accused(STEPS + log) == whom


READS = (
    py_spy(101, "python pretrain.py (rank 0)", "synchronize (torch/cuda/__init__.py:790)", "optimizer_step (pretrain.py:88)")
    + py_spy(102, "python pretrain.py (rank 1)", "synchronize (torch/cuda/__init__.py:790)", "optimizer_step (pretrain.py:88)")
    + py_spy(103, "python pretrain.py (rank 2)", "read (data/reader.py:18)", "train (pretrain.py:70)", state="active")
)


def test_who_works_alone_while_the_others_wait_for_their_gpus_is_accused() -> None:
    assert accused(STEPS + READS) == [(2, 103)]
    assert "read (reader.py:18) stands" in first_cause(STEPS + READS)


def test_a_single_stack_in_a_collective_is_that_of_a_victim() -> None:
    log = STEPS + py_spy(7, "python train.py", f"all_reduce ({C10D}:2219)", "reduce_dict (engine.py:55)")
    assert "another rank did not come to this collective" in first_cause(log)
    assert accused(log) == []


def test_the_handle_of_a_collective_is_no_message_between_two() -> None:
    waits = (f"wait ({C10D}:600)", f"all_gather_into_tensor ({C10D}:3600)", "forward (dp_actor.py:90)")
    log = STEPS + py_spy(201, "python a.py (rank 0)", *waits) + py_spy(202, "python a.py (rank 1)", *waits)
    assert "pipeline" not in first_cause(log)


def test_a_rank_that_closes_its_group_is_told_what_it_waits_for() -> None:
    log = STEPS + py_spy(912, "python train.py", f"destroy_process_group ({C10D}:2145)", "cleanup (distributed.py:88)")
    assert "collectives that its peers never finish" in first_cause(log)


def test_the_barrier_of_jax_is_a_collective() -> None:
    log = STEPS + py_spy(
        4242, "python run.py", "sync_global_devices (jax/experimental/multihost_utils.py:120)", "restore (ckpt.py:127)"
    )
    assert "another rank did not come to this collective" in first_cause(log)


PIPELINE = py_spy(1, "train.py (rank 0)", f"send ({C10D}:2200)", "forward_step (pipe.py:40)") + py_spy(
    2, "train.py (rank 1)", f"recv ({C10D}:2250)", "forward_step (pipe.py:48)"
)


def test_the_two_ends_of_one_message_have_not_parted() -> None:
    assert "pipeline stages wait for each other" in first_cause(STEPS + PIPELINE)
    assert accused(STEPS + PIPELINE) == []


ZERO3 = ("wait (deepspeed/runtime/zero/partition_parameters.py:764)", "fetch_sub_module (deepspeed/runtime/zero/c.py:372)")


def test_ranks_that_gather_weights_in_different_functions_have_parted() -> None:
    student, teacher = (*ZERO3, "rollout (opsd.py:166)"), (*ZERO3, "teacher_logprobs (opsd.py:182)")
    stacks = [py_spy(900 + part, "python opsd.py --stage 3", *(teacher if part == 3 else student)) for part in (0, 3, 4)]
    cause = first_cause(STEPS + "".join(stacks))
    assert "pid 900, pid 904 gathers weights in rollout" in cause
    assert "pid 903 gathers weights in teacher_logprobs" in cause
    assert "parted" not in first_cause(STEPS + stacks[0] + stacks[2])


def test_stacks_that_all_stand_at_one_line_wait_for_each_other_in_it() -> None:
    stacks = [py_spy(132, f"python -m run (task {task})", "train_step (train.py:585)") for task in (0, 16, 32)]
    assert first_cause(STEPS + "".join(stacks)).startswith("all 3 processes stand at one line, train_step (train.py:585)")


def test_what_a_run_said_of_stacks_before_its_last_step_is_past() -> None:
    assert "parted" not in first_cause(TENSOR_PARALLEL + STEPS)
    assert accused(TENSOR_PARALLEL + STEPS) == []


def test_a_number_that_two_processes_have_is_no_rank() -> None:
    log = "".join(
        py_spy(pid, f"python train.py (rank {rank})", f"{call} ({C10D}:3700)", "main (train.py:9)")
        for pid, rank, call in [(1081, 0, "all_gather"), (1082, 0, "barrier"), (1083, 1, "barrier")]
    )
    assert accused(STEPS + log) == [(None, 1081)]


WORKER = py_spy(
    2211,
    "python main.py",
    "__lll_lock_wait (libc.so.6)",
    "___pthread_mutex_lock (libc.so.6)",
    "cv::ocl::haveOpenCL (cv2.abi3.so)",
    "imread (dataset.py:44)",
    "fetch (torch/utils/data/_utils/fetch.py:52)",
    "_worker_loop (torch/utils/data/_utils/worker.py:309)",
)
TWO_LOCKS = py_spy(
    4460, "python serve.py", "acquire (logging/__init__.py:917)", "emit (mylog/handler.py:31)", "run (serve.py:8)"
) + ('Thread 4471 (idle): "flush"\n    _acquireLock (logging/__init__.py:226)\n    close (mylog/rotate.py:77)\n')
GDB = """(gdb) thread apply all bt
Thread 2 (Thread 0x7fc6b59e6700 (LWP 52574)):
#0  0x00007fc73c4f6ad3 in pthread_cond_wait@@GLIBC_2.3.2 () at ../sysdeps/x86_64/pthread_cond_wait.S:185
#1  0x00007fc73b000000 in blas_thread_server () from /opt/conda/lib/libopenblas.so
Thread 1 (Thread 0x7fc73ac5d700 (LWP 60)):
#0  __lll_lock_wait (futex=0x7f8d8b2a3c30, private=0) at lowlevellock.c:52
#1  0x00007f8d8b0a20a3 in __GI___pthread_mutex_lock (mutex=0x7f8d8b2a3c30) at ../nptl/pthread_mutex_lock.c:80
#2  0x00007f8d8b100000 in cv::imdecode_ () from /opt/conda/lib/python3.8/site-packages/cv2/cv2.abi3.so
"""


@pytest.mark.parametrize(
    ("log", "cause", "pid"),
    [
        (WORKER, "a data worker was forked while a lock was held", 2211),
        (TWO_LOCKS, "two of its threads stand at locks", 4460),
        (GDB, "locks", 60),
    ],
    ids=["OpenCV in a worker", "two handlers of logging", "pytorch/pytorch#1355, by gdb"],
)
def test_who_waits_for_a_lock_of_its_own_process_is_accused(log: str, cause: str, pid: int) -> None:
    assert cause in first_cause(STEPS + log)
    assert accused(STEPS + log) == [(None, pid)]


HOLDS_GIL = """Thread 700 (active+gil): "MainThread"
    cuLaunchKernel (libcuda.so.550.54.15)
    run (triton/runtime/launcher.py:33)
    forward (model.py:88)
Thread 733 (idle): "monitor"
    take_gil (python3.11)
    PyEval_RestoreThread (python3.11)
    wait (watch.py:12)
"""
REWARD = """(TaskRunner pid=5323) Timeout (0:40:00)!
(TaskRunner pid=5323) Thread 0x00007f2e11ffb640 (most recent call first):
(TaskRunner pid=5323)   File "/usr/lib/python3.10/site-packages/sympy/core/power.py", line 301 in __new__
(TaskRunner pid=5323)   File "/w/rewards/math.py", line 70 in compute_score
(TaskRunner pid=5323)   File "/w/rewards/manager.py", line 31 in __call__
"""
GRADER = py_spy(
    77,
    "python grpo.py",
    "_sre_match (re.py:200)",
    "verify_answer (graders/boxed.py:41)",
    "compute_rewards (grpo.py:210)",
    state="active",
)


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (HOLDS_GIL, "it holds the GIL while the GPU takes no more work"),
        (REWARD, "the reward of one answer does not end in compute_score"),
        (GRADER, "the reward of one answer does not end in verify_answer"),
    ],
    ids=["a launch of Triton", "hkust-nlp/simpleRL-reason#95", "LLM360/Reasoning360#109"],
)
def test_what_a_thread_holds_or_works_at_tells_the_place(log: str, cause: str) -> None:
    assert cause in first_cause(STEPS + log)


INTERRUPTED = """\
^CTraceback (most recent call last):
  File "train.py", line 80, in calculate_features
    for batch in loader:
  File "/opt/lib/python3.7/site-packages/torch/utils/data/dataloader.py", line 942, in _shutdown_workers
    w.join()
  File "/opt/lib/python3.7/multiprocessing/popen_fork.py", line 28, in poll
    pid, sts = os.waitpid(self.pid, flag)
KeyboardInterrupt
"""
"""After pytorch/pytorch#39570."""


def test_where_a_run_stood_that_a_person_stopped_is_told_behind_that() -> None:
    causes = [*dict.fromkeys(each.cause for each in advice(*seen(STEPS + INTERRUPTED)))]
    assert causes[0] == "Stopped by Ctrl+C."
    assert any("worker" in cause for cause in causes[1:])


def test_a_run_whose_ranks_timed_out_behind_its_end_has_not_finished() -> None:
    end = "`Trainer.fit` stopped: `max_epochs=10` reached.\n"
    timeout = (
        "[rank0]:[E526 10:46:25.933527530 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=49312, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800044 milliseconds "
        "before timing out.\n"
    )
    assert seen(STEPS + end)[1].word == "finished"
    assert seen(STEPS + end + timeout)[1].word == "stalled"


def test_a_run_of_which_a_stack_stands_behind_its_last_step_has_not_finished() -> None:
    assert seen("step 400/400 loss 1.9\n" + WORKER)[1].word == "stalled"
    assert seen("step 400/400 loss 1.9\n")[1].word == "finished"
