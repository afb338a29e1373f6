"""Why a run is slow, by the numbers of its own log: what is told beside it, which cause comes first, and what is no slowness."""

from __future__ import annotations

import random

import pytest

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.logs.extract.steps.peaks import StepGap, peaks_of
from hangtop.records.health import SourceHealth
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.render.view import View
from hangtop.state.run_state import RunState
from hangtop.tui.panes.verdict_pane import verdict_rows
from tests.corpus.score import NOW, read

SPEC = WatchSpec(logs=("train.log",))


def judged(log: str) -> tuple[Verdict, str]:
    """What is said of a log that was just written to, and the first cause that is advised on."""
    reading = read(log.encode(), 1.0)
    state = RunState(log=reading, tail=reading.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    verdict = diagnose(state, SPEC, NOW)
    told = advice(take_snapshot(state, SPEC, NOW), verdict)
    return verdict, told[0].cause if told else ""


def lines(verdict: Verdict) -> list[str]:
    return [fact.text for fact in verdict.evidence if fact.page]


def clock(second: float) -> str:
    whole = int(second)
    return f"2026-01-11 {10 + whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d},{int(second * 1e3) % 1000:03d}"


def table(data_s: list[float], *, step_s: float = 0.3) -> str:
    """As LeRobot prints its steps."""
    text, at = "", 0.0
    for step, waited_s in enumerate(data_s, 1):
        at += waited_s + step_s
        told = f"loss:{1 / step + 1:.3f} lr:1e-06 updt_s:{step_s:.3f} data_s:{waited_s:.3f}"
        text += f"INFO {clock(at)} ts/train.py:232 step:{step} {told}\n"
    return text


def deepspeed(forward: float, backward: float, step: float, *, key: str = "") -> str:
    return "".join(
        f"[{clock(10 * n)}] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd{key}: {forward:.2f} "
        f"| bwd{key}: {backward:.2f} | bwd_inner{key}: {backward - 3:.2f} | bwd_allreduce{key}: 3.00 | step{key}: {step:.2f}\n"
        for n in range(1, 30)
    )


def verl(**seconds: float) -> str:
    parts = " - ".join(f"timing_s/{name}:{told:.2f}" for name, told in seconds.items())
    return "".join(
        f"(TaskRunner pid=7) step:{step} - actor/pg_loss:0.01 - {parts} - timing_s/step:{sum(seconds.values()):.2f}\n"
        for step in range(1, 12)
    )


@pytest.mark.parametrize(
    ("log", "line", "cause"),
    [
        (table([2.0] * 20), "87 % of the step is loading of data (2.0 of 2.3 s)", "too few batches"),
        (table(([13.3] + [0.001] * 7) * 5), "% of the time is loading of data, in bursts", "too few batches"),
        (deepspeed(25, 900, 1547), "63 % of the step is the optimizer", "offloaded"),
        (deepspeed(376, 860, 22_900, key="_microstep"), "95 % of the step is the optimizer", "offloaded"),
        (verl(gen=412.0, old_log_prob=200.0, update_actor=2500.0), "80 % of the step is training", "update of the actor"),
        (verl(gen=2800.0, old_log_prob=200.0, update_actor=400.0), "82 % of the step is generation", "long answers"),
        (verl(gen=40.0, update_actor=30.0, reward=90.0), "56 % of the step is the reward", "rewards are computed"),
    ],
    ids=["data", "data in bursts", "offload", "offload by microstep", "update", "generation", "reward"],
)
def test_a_part_that_takes_most_of_a_step_from_the_start_is_told_with_its_cause(log: str, line: str, cause: str) -> None:
    verdict, told = judged(log)
    assert verdict.word == "running"
    assert line in lines(verdict)[0]
    assert cause in told


@pytest.mark.parametrize(
    "log",
    [
        table([0.01] * 30),
        table([60.0] + [0.01] * 29),
        deepspeed(300, 900, 60),
        verl(gen=40.0, old_log_prob=5.0, update_actor=20.0),
    ],
    ids=["data at once", "the first batch alone", "an optimizer on the GPU", "a usual step of RL"],
)
def test_nothing_is_told_and_advised_of_a_run_that_is_well(log: str) -> None:
    verdict, told = judged(log)
    assert (verdict.word, lines(verdict), told) == ("running", [], "")


def test_an_update_is_what_a_step_without_generation_is_for() -> None:
    log = "".join(f"step {n}: updt_s:2.0 data_s:0.0\n" for n in range(1, 40))
    assert lines(judged(log)[0]) == []


def test_a_step_that_takes_longer_than_it_did_is_in_the_headline() -> None:
    steps, at = "", 0.0
    for step in range(1, 80):
        at += 2.0 if step <= 40 else 9.0
        steps += f"{clock(at)} step {step}/1000 loss {3 / step + 1:.3f}\n"
    verdict, told = judged(steps)
    assert verdict.headline == "Running slower than before."
    assert "a step takes 9.0 s, it took 2.0 s until about step 40" in lines(verdict)
    assert len(lines(verdict)) == 1
    assert told


SOCKET = "a:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\na:1:2 [0] NCCL INFO Using network Socket\n"
STEPS = "".join(f"{clock(20 * step)} step {step}/1000 loss {3 / step + 1:.3f}\n" for step in range(1, 30))


def test_tcp_is_told_between_nodes_and_not_within_one() -> None:
    verdict, cause = judged("num_nodes: 2\n" + SOCKET + STEPS)
    assert lines(verdict) == ["NCCL goes over TCP sockets between 2 nodes: it found no InfiniBand card"]
    assert "TCP sockets" in cause
    assert lines(judged("num_nodes: 1\n" + SOCKET + STEPS)[0]) == []
    assert lines(judged("num_nodes: 2\n" + SOCKET.replace("Socket", "IB") + STEPS)[0]) == []


RETRY = "WARNING Retrying (Retry(total={}, connect=None)) after connection broken by 'ReadTimeoutError'\n"


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("[stage3.py:2069:step] 2 pytorch allocator cache flushes since last step. this happens when", "memory"),
        ("  Will skip the first 0 epochs then the first 500000 batches in the first epoch.", "throws it away"),
        ("Loading safetensors checkpoint shards:  64% Completed | 40/62 [40:29<10:35, 28.60s/it]", "slow disk"),
        (RETRY.format(1), "tried again"),
    ],
)
def test_what_the_log_says_of_its_slowness_is_told_with_its_page(message: str, cause: str) -> None:
    verdict, told = judged(f"{STEPS}{message}\n")
    assert lines(verdict)[0].startswith("says: ")
    assert cause in told


@pytest.mark.parametrize(
    "message",
    [
        "Loading safetensors checkpoint shards:  64% Completed | 40/62 [00:41<00:20, 1.03s/it]",
        RETRY.format(4),
        "from accelerate import skip_first_batches",
    ],
)
def test_a_first_retry_and_a_fast_disk_are_no_slowness(message: str) -> None:
    assert lines(judged(f"{STEPS}{message}\n")[0]) == []


def test_what_was_said_long_ago_is_over() -> None:
    flush = "[stage3.py:2069:step] 2 pytorch allocator cache flushes since last step\n"
    later = "".join(f"{clock(600 + 2 * step)} step {30 + step}/9000 loss 1.0{step}\n" for step in range(1, 6_000))
    assert lines(judged(STEPS + flush + later)[0]) == []


def gaps(seconds: list[float]) -> list[StepGap]:
    return [StepGap(float(step), each, 1.0) for step, each in enumerate(seconds, 1)]


def test_long_steps_that_come_by_a_period_are_found_among_noise() -> None:
    dice = random.Random(1)
    peaks = peaks_of(gaps([(6.0 if step % 5 == 0 else 2.0) * (1 + 0.1 * dice.random()) for step in range(1, 101)]))
    assert peaks is not None
    assert peaks.every == 5
    assert peaks.lost == pytest.approx(4 / 14, abs=0.05)


@pytest.mark.parametrize(
    "seconds",
    [
        [2.0 + 0.2 * (step % 3) for step in range(60)],
        [1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 2.0, 1.0] * 8,
        [60.0] + [2.0] * 59,
        [2.0, 9.0] * 30,
    ],
    ids=["noise", "a clock of whole seconds", "the first step", "two kinds of steps"],
)
def test_noise_ticks_and_a_compiling_step_are_no_peaks(seconds: list[float]) -> None:
    assert peaks_of(gaps(seconds)) is None


def test_the_band_of_a_slow_run_says_why_and_do() -> None:
    reading = read(table([2.0] * 20).encode(), 1.0)
    state = RunState(log=reading, tail=reading.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    verdict = diagnose(state, SPEC, NOW)
    told = advice(take_snapshot(state, SPEC, NOW), verdict)
    rows = ["".join(text for text, _ in row) for row in verdict_rows(View(state, verdict, SPEC, NOW, advice=told), 100, 6)]
    assert len(rows) == 5
    assert "noted 87 % of the step is loading of data" in rows[2]
    assert "too few batches" in rows[3]
    assert "More loader workers" in rows[4]


def test_each_long_step_is_told_with_what_it_costs() -> None:
    text, at = "", 0.0
    for step in range(1, 61):
        at += 9.0 if step % 3 == 0 else 3.2
        text += f"[rank0]:[titan] {clock(at)} - root - INFO - step: {step:2}  loss: {12 - step / 10:8.4f}  wps: 10,411\n"
    verdict, cause = judged(text)
    assert lines(verdict)[0].startswith("one step in 3 takes 9.0 s, the others 3.2 s: 38 % of the time")
    assert "garbage collector" in cause


def growing(length: int) -> str:
    """verl's steps, each longer than the one before; answers `length` tokens longer each time."""
    return "".join(
        f"(TaskRunner pid=7) step:{step} - actor/pg_loss:0.01 - response_length/mean:{300 + length * step}.5 - "
        f"timing_s/gen:{10 + 0.8 * step:.2f} - timing_s/update_actor:{10 + 0.8 * step:.2f} - "
        f"timing_s/step:{22 + 1.6 * step:.2f}\n"
        for step in range(1, 80)
    )


def test_steps_that_grow_all_the_time_are_no_change_at_a_step() -> None:
    verdict, cause = judged(growing(0))
    assert lines(verdict) == ["a step takes 148.4 s, at first 25.2 s: 160.0 s more each 100 steps"]
    assert "kept from step to step" in cause


def test_longer_answers_explain_longer_steps() -> None:
    assert "the answers got longer: 370 tokens at first, 1,790 now" in judged(growing(20))[1]


def test_a_throughput_that_fell_is_told_where_the_lines_have_no_time() -> None:
    text = "".join(
        f"epoch=0/micro_step={step}/global_step={step}, RunningAvgSamplesPerSec={40.0 if step < 40 else 9.5:.2f}, "
        f"CurrSamplesPerSec={40.1 if step < 40 else 9.4:.2f}, MemAllocated=12.1GB, MaxMemAllocated=22.2GB\n"
        for step in range(1, 80)
    )
    assert lines(judged(text)[0])[0].startswith("the throughput is 9.500, it was 40.000 until")


def by_rank(data_s: dict[int, float], ranks: int = 4) -> str:
    text = ""
    for step in range(1, 20):
        for rank in range(ranks):
            own_s = data_s.get(rank, 0.02) * (1 + 0.1 * (step % 3))
            text += f"[rank{rank}]: {clock(4 * step)} Epoch(train) [1][{step}/900] lr: 1.0e-03 eta: 1:00:00 time: 4.0 data_time: "
            text += f"{own_s:.4f} memory: 12231 loss: 3.6{step}\n"
    return text


def test_the_rank_that_needs_longer_of_its_own_is_named() -> None:
    verdict, _ = judged(by_rank({2: 1.1}))
    assert lines(verdict)[0] == "rank 2 needs 1.2 s of its own in a step, the others 0.02 s: loading of data"


@pytest.mark.parametrize("log", [by_rank({}), by_rank({1: 1.0}, ranks=2)], ids=["alike", "of two"])
def test_no_rank_is_named_where_none_stands_out(log: str) -> None:
    assert not [line for line in lines(judged(log)[0]) if line.startswith("rank")]


OFFLOAD = (
    " time (ms) | update_optims: 21766.25 | unscale_grads: 506.45 | optimizer_step: 22850.66\n"
    " time (ms) | forward_microstep: 376.60 | backward_microstep: 864.56 | backward_inner_microstep: 806.86 | "
    "backward_allreduce_microstep: 57.62 | step_microstep: 22880.87\n"
    "time (ms) | forward: 376.60 | backward: 864.56 | backward_inner: 806.87 | backward_allreduce: 57.62 | step: 22880.87\n"
)
FLUSHES = (
    "  1%|▌  | 1/90 [16:59<25:12:38, 1019.75s/it, loss=7.13, ppl=1250][2024-04-08 13:02:16,577] [WARNING] [stage3.py:2069:step] "
    "27 pytorch allocator cache flushes since last step. this happens when there is high memory pressure and is detrimental to "
    "performance.\n  2%|█  | 2/90 [34:38<25:29:07, 1042.58s/it, loss=5.97, ppl=390]\n"
)
TIMING = (
    "⏱️  Timing:\n  • Total step time: 126.55s\n  • exposed_generation: 32.52s (48.9%)\n  • policy_training: 25.05s (37.6%)\n"
    "  • policy_and_reference_logprobs: 4.78s (7.2%)\n  • weight_sync: 60.13s (0.2%)\n"
)
ALLREDUCE = (
    "[2021-10-08 20:18:{:02d},393] [INFO] [logging.py:68:log_dist] [Rank 0] rank=0 time (ms) | forward: 316.00 | "
    "backward: 747.31 | backward_inner: 514.96 | backward_allreduce: 232.28 | step: 663.59\n"
)
REPORT = (
    "Action |  Mean duration (s) |  Num calls |  Total time (s) |  Percentage %\n"
    "run_training_epoch |  91.657                |  1                    |  91.657               |  91.901               |\n"
    "[_TrainingEpochLoop].train_dataloader_next |  5.2931                |  16                   |  84.689        |  84.915  |\n"
)
BURSTS = "".join(
    f"INFO 2025-07-11 08:20:{13 + step % 40:02d} ts/train.py:232 step:{9 + step} smpl:{576 + 64 * step} ep:2 epch:0.00 "
    f"loss:1.05{step} grdn:4.482 lr:1.8e-06 updt_s:{updated} data_s:{waited}\n"
    for step, (updated, waited) in enumerate([("0.302", "13.330"), *[("0.296", "0.001")] * 7, ("0.295", "0.595")] * 4)
)


def stepped(optimizer_ms: list[float]) -> str:
    return "".join(
        f"[{clock(3 * step)}] [INFO] [logging.py:68:log_dist] [Rank 0] time (ms) | fwd: 310.00 | bwd: 900.30 | bwd_inner: 810.00 "
        f"| bwd_allreduce: 90.30 | step: {each:.2f}\n"
        for step, each in enumerate(optimizer_ms, 1)
    )


@pytest.mark.parametrize(
    ("log", "page"),
    [
        (OFFLOAD * 8, "slow_optimizer"),
        ("".join(ALLREDUCE.format(2 * step) for step in range(20)), "slow_optimizer"),
        (stepped([100.0] * 30 + [10_000.0] * 30), "slow_optimizer"),
        (f"Epoch 1 step 10 loss 1.2\n{REPORT}", "slow.profiled_data"),
        (BURSTS, "slow_data"),
        ("Skipping the first batches:  76%|███████▌  | 93017/122500 [6:35:47<2:26:12,  3.36it/s]\n", "slow.skip_batches"),
        (
            "(Worker_TP0 pid=1700) \nLoading safetensors checkpoint shards:  28% Completed | 24/85 [10:26<30:24, 29.91s/it]\n",
            "slow.weights",
        ),
        (FLUSHES, "slow.memory_pressure"),
        (TIMING * 8, "slow_network"),
    ],
    ids=[
        "DeepSpeed#1635",
        "DeepSpeed#1436",
        "transformers#22112",
        "lag-llama#51",
        "lerobot#1488",
        "transformers#21934",
        "vllm#38476",
        "EasyContext#11",
        "slow refit in the form of NeMo-RL#1052",
    ],
)
def test_what_threads_of_slow_runs_printed_leads_to_its_page(log: str, page: str) -> None:
    assert [fact.page for fact in judged(log)[0].evidence if fact.page][:1] == [page]


@pytest.mark.parametrize(
    "log",
    [
        TIMING.replace("weight_sync: 60.13s", "weight_sync: 0.13s") * 8,
        "".join(f"iter {1631 + step}: loss 4.0{step}, time 56{step % 5}.94ms\n" for step in range(40)),
        "".join(
            f"time (ms) | forward_microstep: {193 + step % 9}.65 | backward_microstep: 329.25 | "
            "backward_inner_microstep: 329.14 | backward_allreduce_microstep: 0.05 | step_microstep: 0.92\n"
            for step in range(40)
        ),
    ],
    ids=["NeMo-RL#1052", "nanoGPT#110", "DeepSpeed#255"],
)
def test_threads_whose_numbers_are_as_they_should_be_are_told_nothing(log: str) -> None:
    assert lines(judged(log)[0]) == []
