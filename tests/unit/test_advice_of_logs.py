"""Of a log that falls silent without a message: what it says of how the run is built tells the likeliest cause."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.health import SourceHealth
from hangtop.records.process import ProcessReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.state.run_state import RunState
from tests.corpus.score import NOW, read

SPEC = WatchSpec(logs=("train.log",))
HOURS_S = 4 * 3600.0


def first_cause(log: str) -> str:
    """Of a log that was written to hours ago."""
    reading = read(log.encode(), HOURS_S)
    state = RunState(log=reading, tail=reading.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    return advice(take_snapshot(state, SPEC, NOW), diagnose(state, SPEC, NOW))[0].cause


GROUP = (
    "host:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via {}\nhost:1:2 [0] NCCL INFO comm 0x5 rank 0 nranks 2 - Init COMPLETE\n"
)


MEMBER = "initializing ddp: GLOBAL_RANK: {}, MEMBER: {}/8\n"
KERNEL = "Detected kernel version 5.4.250, which is below the recommended minimum of 5.5.0; this can cause the process to hang.\n"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (GROUP.format("P2P/IPC"), "direct copies between GPUs fail"),
        (GROUP.format("NET/Socket/0"), "ports between the nodes are closed"),
        (GROUP.format("SHM/direct"), "the next step of the script"),
        ("> initializing torch distributed ...\n> compiling and loading fused kernels ...\n", "left its lock file"),
        ("Fetching 163 files:  98%|█████████▊| 160/163 [11:02<00:12,  4.14s/it]\n", "Xet"),
        ("step 100: evaluating on 1024 examples\n", "only some ranks entered the evaluation"),
        ("Adding EOS (num_proc=2):   0%|          | 0/2 [00:00<?, ? examples/s]\n", "map forked its workers"),
        ("saving model to '/ckpt/val_loss=3.18.ckpt' as top 3\n", "a metric that differs between the ranks"),
        ("saving model to '/ckpt/last.ckpt'\n", "a slow or full shared disk"),
        ("Using /c/torch_extensions/py310_cu121 as PyTorch extensions root...\n", "left its lock file"),
        ("epoch 1\nReducer buckets have been rebuilt in this iteration.\n", "parameters without a gradient"),
        ("wandb: Tracking run with wandb version 0.16.1\n", "the tracker does not come back"),
        ("h:1:1 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\nNCCL version 2.18.1+cuda12.1\n", "an interface on which"),
        ("| distributed init (rank 0): env://\n", "a rank of the world never came"),
        (
            f"{MEMBER.format(1, 2)}{MEMBER.format(1, 2)}{MEMBER.format(0, 1)}{MEMBER.format(0, 1)}",
            "two processes take the same rank",
        ),
        (f"{MEMBER.format(0, 1)}{MEMBER.format(1, 2)}", "MEMBER line is missing"),
        (f"{MEMBER.format(0, 1)}", "of 8 ranks one has come"),
        ("Map (num_proc=16):  93%|#  | 866000/930514 [15:01<01:02, 1030.1 examples/s]\n", "a process of map died"),
        (f"{KERNEL}***** Running training *****\n  0%|          | 0/3750 [00:00<?, ?it/s]\n", "kernel is older than 5.5"),
        ("***** Running training *****\n  0%|          | 0/3750 [00:00<?, ?it/s]\n", "the first step stands"),
        ("[Step 553041 / 720000] loss: 0.42\n[Step 553061 / 720000] loss: 0.41\n", "the data loader gives no batch"),
        (
            'Uvicorn running on http://0.0.0.0:8000\n1.1.1.1:52740 - "POST /update_named_param/ HTTP/1.1" 200 OK\n',
            "one side is missing",
        ),
        (
            "Connecting to existing Ray cluster at address: 10.8.1.4:6379...\nPushing file package 'gcs://a.zip'\n",
            "prepares the workers'",
        ),
        ("Epoch 0:  99%|#  | 4390/4435 [20:11<00:10,  3.49it/s, v_num=3]\n", "one has a batch more"),
        ("Epoch 0:  49%|#  | 2190/4435 [20:11<20:10,  3.49it/s, v_num=3]\n", "a rank left the round"),
        (
            "rank 0: number of batches 4\nrank 1: number of batches 8\nstep 3 loss 2.0\nstep 4 loss 1.9\n",
            "8 batches on rank 1, 4",
        ),
        (
            "Capture cuda graph begin. This can take minutes.\n  4%|#  | 1/23 [00:10<03:40, 10.0s/it]\n",
            "the capture of graphs",
        ),
        (
            "10%|#  | 100/1000 [05:00<45:00,  3.0s/it]\n***** Running Evaluation *****\n 60%|#  | 9/15 [01:00<00:40,  6.7s/it]\n",
            "evaluation",
        ),
    ],
)
def test_the_first_cause_is_the_one_that_the_log_speaks_for(log: str, cause: str) -> None:
    assert cause in first_cause(log)


VLLM_0 = (
    "INFO 02-01 06:3{}:05 llm_engine.py:921] Avg prompt throughput: {} tokens/s, Avg generation throughput: {} tokens/s, "
    "Max iteration time: 386.7 ms, Avg time/tok:149.4 ms, Running: {} reqs, Swapped: 0 reqs, Pending: {} reqs, "
    "GPU KV cache usage: 99.0%, CPU KV cache usage: 0.0%\n"
)
VLLM_1 = (
    "INFO 09-06 04:0{}:18 [loggers.py:122] Engine 000: Avg prompt throughput: {} tokens/s, "
    "Avg generation throughput: {} tokens/s, Running: {} reqs, Waiting: {} reqs, "
    "GPU KV cache usage: 6.0%, Prefix cache hit rate: 0.0%\n"
)
READY = "[2026-01-11 10:00:00] The server is fired up and ready to roll!\n"
SGLANG = (
    "[2026-01-11 10:0{}:00 TP0] Decode batch. #running-req: {}, #token: 8000, token usage: 0.1, cuda graph: True, "
    "gen throughput (token/s): {}, #queue-req: {}, \n"
)
CONNECTED = "2026-01-11 10:00:00,000\tINFO worker.py:1918 -- Connected to Ray cluster. View the dashboard at 10.0.0.1:8265\n"
LOADED = "[2026-01-11 10:02:47] rank{} shards loaded\n"
WATCHDOG = (
    "[rank{}]:[E ProcessGroupNCCL.cpp:607] [Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={}, "
    "OpType={}, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600041 milliseconds before timing out.\n"
)


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (
            VLLM_0.format(6, "382.6", "118.5", 35, 115) + VLLM_0.format(7, "0.0", "0.0", 35, 115),
            "the engine has 35 requests in work and makes no token",
        ),
        (
            VLLM_1.format(1, "0.0", "598.3", 32, 0)
            + VLLM_1.format(2, "0.0", "0.0", 32, 0)
            + VLLM_1.format(3, "0.0", "0.0", 32, 9),
            "the engine has 32 requests in work and makes no token",
        ),
        (
            VLLM_1.format(1, "0.0", "598.3", 32, 0) + VLLM_1.format(2, "0.0", "31.0", 1, 0),
            "the answers are made; what follows stands",
        ),
        (
            VLLM_0.format(1, "9.0", "598.3", 32, 0) + VLLM_0.format(2, "0.0", "3.0", 0, 0),
            "the answers are made; what follows stands",
        ),
        (READY + SGLANG.format(1, 64, "2110.0", 0) + SGLANG.format(2, 1, "40.2", 0), "the answers are made; what follows stands"),
        (
            "initializing deepspeed distributed: GLOBAL_RANK: 0, MEMBER: 1/16\n",
            "of 16 ranks one has come: the others were not started",
        ),
        ("Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/2\n", "of 2 ranks one has come: the others were not started"),
        ("ping: bert-launcher-0: Name or service not known\n", "name cannot be resolved (bert-launcher-0)"),
        (
            "dial tcp: lookup llama-master-0.ml.svc.cluster.local: no such host\n",
            "name cannot be resolved (llama-master-0.ml.svc.cluster.local)",
        ),
        ("curl: (6) Could not resolve host: huggingface.co\n", "A host name cannot be resolved"),
        (
            CONNECTED + "{'actor_rollout_ref': {}, 'trainer': {'n_gpus_per_node': 8, 'nnodes': 2}}\n",
            "it asks for 8 GPUs on a node (n_gpus_per_node)",
        ),
        (CONNECTED + "Namespace(actor_num_gpus_per_node=16, critic_num_gpus_per_node=8)\n", "it asks for 16 GPUs on a node"),
        ("All done, closing the pool\n", "it is done and does not leave"),
        (
            "wandb: Waiting for W&B process to finish, PID 4711\nwandb: Program ended successfully.\n",
            "it is done and does not leave",
        ),
        (
            "2026-01-11 10:00:01 Experiment finished\n",
            "it is done and does not leave",
        ),
        ("rank0[1][MainThread]: INFO: streaming.base.util: Cleaned up 3 stale shared memory\n", "killed runs left shared memory"),
        ("step 9/10 loss 1.0\nBuilding the train dataloader with 8 workers\n", "the workers idle"),
        ("Initializing DataLoader (num_workers=16)\n", "the workers idle"),
        ("UserWarning: GPU backend initialization is taking more than 60.0 seconds.\n", "not started on all hosts"),
        (
            "".join(WATCHDOG.format(rank, rank, 900, "ALLREDUCE") for rank in (0, 1, 3))
            + WATCHDOG.format(2, 2, 871, "BROADCAST"),
            "rank 2 took another path: it waits in BROADCAST number 871, not ALLREDUCE number 900",
        ),
        (
            "".join(LOADED.format(rank) for rank in range(4))
            + "".join(f"[2026-01-11 10:02:48] rank{rank} cache index.bin found\n" for rank in (0, 1, 3))
            + "[2026-01-11 10:02:48] rank2 no cache index.bin, building it\n",
            "a rank took another path: rank 2",
        ),
    ],
)
def test_the_last_words_tell_the_place(log: str, cause: str) -> None:
    assert cause in first_cause(log)


def test_an_extension_that_was_built_is_no_longer_in_the_way() -> None:
    built = "Emitting ninja build file /c/cpu_adam/build.ninja...\nTime to load cpu_adam op: 2.31 seconds\n"
    assert "lock file" not in first_cause(built)


def test_a_wait_that_is_over_is_not_advised_on() -> None:
    over = "Waiting for register center actor a1_register_center to be ready.\n"
    shards = "Loading checkpoint shards:  50%|#  | 1/2 [00:03<00:03,  3s/it]\n"
    assert "waits for others" not in first_cause(over + shards)


def test_a_risk_that_the_run_has_left_behind_explains_nothing() -> None:
    steps = "".join(f"step {step} loss 2.{step}\n" for step in range(1, 300))
    assert "kernel" not in first_cause(KERNEL + steps)


TIMEOUT = "[rank1]:[E1 ProcessGroupNCCL.cpp:632] [Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={}, OpType={}, NumelIn={}, NumelOut=1, Timeout(ms)=1800000) ran for 1800061 milliseconds before timing out.\n"  # noqa: E501
STEPS = "step 10 loss 2.0\nstep 20 loss 1.9\n"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (STEPS + TIMEOUT.format(1, 220, "ALLREDUCE", 1), "a barrier or one value"),
        (STEPS + TIMEOUT.format(1, 220, "ALLREDUCE", 466119168), "gradients are summed"),
        (STEPS + TIMEOUT.format(1, 220, "_ALLGATHER_BASE", 16777216), "a module's weights are gathered"),
        (STEPS + TIMEOUT.format(1, 220, "RECV", 4194304), "a pipeline stage waits for its neighbour"),
        (STEPS + TIMEOUT.format(1, 220, "ALLTOALL_BASE", 1379328), "tokens go to experts"),
        (TIMEOUT.format(1, 1, "BROADCAST", 1822), "BROADCAST 1 is of the set-up"),
        (TIMEOUT.format(0, 140, "ALLREDUCE", 1) + TIMEOUT.format(1, 140, "_ALLGATHER_BASE", 4096), "call different collectives"),
        (
            STEPS + "Saving model checkpoint to /out\n" + TIMEOUT.format(1, 220, "ALLREDUCE", 1),
            "one rank alone gathers or writes",
        ),
        (
            "99%|#  | 99/100 [1:00<0:01,  1s/it]\n100%|#  | 100/100 [1:01<0:00,  1s/it]\n" + TIMEOUT.format(1, 220, "BARRIER", 1),
            "a barrier or",
        ),
    ],
)
def test_what_timed_out_tells_what_the_missing_rank_may_do(log: str, cause: str) -> None:
    assert cause in first_cause(log)


PY_SPY = """step 3 loss 2.0
Process 31422: python train.py
Python v3.8.13 (/opt/conda/bin/python3.8)

Thread 31422 (idle): "MainThread"
    wait (threading.py:302)
    get (queue.py:170)
    _try_get_data (torch/utils/data/dataloader.py:990)
    train (train.py:274)
"""
FAULTHANDLER = """step 400 loss 2.0
Timeout (0:10:00)!
Thread 0x00007f445de3e700 (most recent call first):
  File "/opt/conda/lib/python3.10/threading.py", line 320 in wait

Thread 0x00007f445de3e740 (most recent call first):
  File "/opt/conda/lib/python3.10/site-packages/torch/distributed/distributed_c10d.py", line 2948 in all_gather_object
  File "/app/train.py", line 88 in save_checkpoint
"""


BESIDE = """[default1]:Timeout (0:05:00)!
[default1]:Thread 0x00007f90f4c489c9 (most recent call first):
[default1]:  File "/usr/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 2864 in all_reduce
[default3]:Timeout (0:05:00)!
[default1]:  File "/w/lm/train.py", line 203 in reduce_loss
[default3]:Thread 0x00007f36237caf9c (most recent call first):
[default3]:  File "/usr/lib/python3.11/site-packages/filelock/_api.py", line 344 in acquire
[default3]:  File "/w/lm/data.py", line 131 in next_batch
"""


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (PY_SPY, "the workers idle"),
        (FAULTHANDLER, "one rank alone calls state_dict"),
        (BESIDE, "holds the lock of the cache"),
    ],
)
def test_a_stack_that_stands_in_the_log_tells_the_place(log: str, cause: str) -> None:
    assert cause in first_cause(log)


def test_of_a_run_that_broke_off_unseen_the_log_tells_where_it_may_have_stood() -> None:
    log = f"{KERNEL}***** Running training *****\n  0%|          | 0/3750 [00:00<?, ?it/s]\n"
    reading = read(log.encode(), HOURS_S)
    procs = ProcessReading(sought=True)
    state = RunState(log=reading, procs=procs, tail=reading.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    verdict = diagnose(state, SPEC, NOW)
    assert verdict.rule == "broke_off"
    causes = [*dict.fromkeys(each.cause for each in advice(take_snapshot(state, SPEC, NOW), verdict))]
    assert "ended without a known word" in causes[0]
    assert any("kernel is older" in cause for cause in causes)
    assert any("the first step stands" in cause for cause in causes)


def test_who_printed_a_stack_outside_of_the_collective_of_the_others_is_accused() -> None:
    others = BESIDE.replace("[default1]", "[default0]") + BESIDE
    reading = read(others.encode(), HOURS_S)
    state = RunState(log=reading, tail=reading.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    assert [culprit.rank for culprit in diagnose(state, SPEC, NOW).culprits] == [3]
