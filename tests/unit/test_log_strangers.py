"""What the batch of strangers taught: rules that hold for other logs of the kind."""

from __future__ import annotations

import pytest

from hangtop.logs.digest import Digest
from hangtop.logs.joined_logs import join_logs
from hangtop.records.log import LogReading
from tests.fakes.read_log import INDEX

RAYLET = "(raylet) A worker died or was killed while executing a task by an unexpected system error. Worker PID: 52006\n"
TIMED_OUT = (
    "(WorkerDict pid=52006) [rank5]:[E305 10:11:02.41 ProcessGroupNCCL.cpp:632] [Rank 5] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600021 milliseconds.\n"
)
OTHERS_TIMED_OUT = TIMED_OUT.replace("52006", "52001").replace("rank5", "rank0").replace("Rank 5", "Rank 0")


def read(text: str) -> LogReading:
    digest = Digest(INDEX, 0)
    digest.feed(text.encode())
    return join_logs([digest.facts()], [], INDEX.catalog)


def test_a_worker_that_said_what_it_died_of_is_not_blamed_on_the_report_of_its_death():
    assert next(finding.id for finding in read(TIMED_OUT + RAYLET).findings) == "nccl.watchdog_timeout"


def test_a_worker_that_vanished_without_a_word_is_the_cause_of_what_its_peers_say():
    assert next(finding.id for finding in read(RAYLET + OTHERS_TIMED_OUT).findings) == "ray.worker_died"


def test_a_checkpoint_that_is_loaded_is_not_yet_a_step():
    start = "using world size: 8, data-parallel size: 8\n[after megatron is initialized] datetime: 2026-01-11 10:00:00\n"
    loading = " successfully loaded checkpoint from /ckpt/m [ t 1/1, p 1/1 ] at iteration 12000\n"
    reading = read(start + loading)
    assert (reading.stages[-1].id, reading.progress.step) == ("model_load", None)


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("[信息] 第 12/200 步 损失=2.31 学习率=1e-05\n", 12),
        ("迭代: 40/900，loss=1.2\n", 40),
        ("第 29 步／共 80 步：奖励 0.0912，参数 0.0914\n", 29),
        ("第12步，共80步 损失 1.2\n", 12),
        ('train_inner | {"epoch": 1, "update": 0.1, "loss": "4.2", "num_updates": "1200", "lr": "0.0004"}\n', 1200),
    ],
)
def test_steps_are_read_in_other_words_too(line: str, step: int):
    assert read(line).progress.step == step


@pytest.mark.parametrize("line", ["第1步，先计算 3 + 4 = 7\n", "第 3/20 题 答案: 7\n"])
def test_a_numbered_thought_is_no_step(line: str):
    assert read(line).progress.step is None


STEPS = "".join(f"iteration {step}/900 | loss 1.2\n" for step in range(40, 48))
RAISED = 'Traceback (most recent call last):\n  File "/job/train.py", line 9, in <module>\n    main()\n'
TOO_MANY = "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/api/x\n"


def test_a_warning_that_was_the_exception_of_the_last_traceback_ended_the_run():
    first = read(RAISED + TOO_MANY).findings[0]
    assert (first.id, first.severity) == ("hub.rate_limit", "fatal")


@pytest.mark.parametrize("text", [TOO_MANY, RAISED + TOO_MANY + STEPS])
def test_a_warning_that_ended_nothing_stays_one(text: str):
    assert {finding.severity for finding in read(text).findings} <= {"warning", "hint"}


def test_an_exception_whose_words_begin_below_its_name_is_known_by_them():
    found = read(RAISED + "RuntimeError: \n        CUDA Setup failed despite GPU being available. Please run\n").findings
    assert found[0].id == "env.bitsandbytes"


def test_an_exception_that_speaks_of_ignored_columns_was_not_ignored():
    exception = (
        "ValueError: No columns in the dataset match the model's forward method signature. The following have been ignored: x\n"
    )
    assert read(RAISED + exception).findings[0].id == "data.columns"


@pytest.mark.parametrize(
    ("kind", "name", "known"),
    [
        (
            "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
            "Duplicate GPU detected : rank 1 and rank 0",
            "nccl.duplicate_gpu",
        ),
        ("ncclInternalError: Internal check failed.", "Bootstrap : no socket interface found", "nccl.no_interface"),
    ],
)
def test_what_names_only_the_kind_of_a_fault_gives_way_to_what_names_it(kind: str, name: str, known: str):
    assert read(f"{kind}\nLast error:\n{name}\n").findings[0].id == known
    assert read(f"{kind}\n").findings[0].role == "cause"


def test_a_message_that_stands_indented_below_its_exception_is_told_without_the_indent():
    text = (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 3, in <module>\n'
        "    p.start()\n"
        "RuntimeError: \n"
        "        An attempt has been made to start a new process before the\n"
        "        current process has finished its bootstrapping phase.\n"
    )
    assert {finding.text for finding in read(text).findings} == {
        "An attempt has been made to start a new process before the",
        "RuntimeError: An attempt has been made to start a new process before the",
    }


@pytest.mark.parametrize(
    "line",
    [
        "스텝: 40/900 손실: 1.25 학습률: 0.001\n",
        "ステップ: 40/900 損失: 1.25 学習率: 0.001\n",
        "第 40/900 步 损失=1.25 学习率=0.001\n",
    ],
)
def test_loss_and_learning_rate_are_read_in_other_words_too(line: str):
    progress = read(line).progress
    assert (progress.step, progress.total, progress.metrics) == (40, 900, {"loss": 1.25, "lr": 0.001})


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("Finished training in 2:11:07", True),
        ("Finished Training", True),
        ("Training complete after 3 epochs.", True),
        ("End of training", True),
        ("Finished training it 1024/30000 of epoch 0, 12.31 ms/it, loss 0.69", False),
        ("Finished training fold 2", False),
        ("Finished training epoch 3, loss 2.1", False),
        ("Epoch 3 training complete", False),
        ("Training done for this round", False),
        ("At the end of training step 3 the loss is 2.1", False),
    ],
)
def test_the_end_of_a_part_of_the_training_is_not_the_end_of_the_run(line: str, ends: bool):
    reading = read(STEPS + line + "\n")
    assert (reading.stages[-1].id == "finish") is ends


def test_the_words_of_one_framework_in_a_script_of_ones_own_do_not_make_it_that_framework():
    reading = read("Total training steps: 9000\nbuilding the model\n")
    assert (reading.framework, [stage.id for stage in reading.stages]) == ("generic", [])


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("学習が完了しました。重みは weights.json に保存しました。\n", True),
        ("学習を終了します\n", False),
        ("エポック 3 の学習が完了しました。\n", False),
        ("학습이 완료되었습니다.\n", True),
        ("에포크 3 학습 완료\n", False),
        ("学習完了\n", True),
        ("第 3 题／共 80 题\n", False),
    ],
)
def test_an_end_in_japanese_and_korean_is_one_and_that_of_an_epoch_is_none(line: str, ends: bool):
    start = "ステップ 1/9 損失 0.5\nステップ 9/9 損失 0.4\n"
    assert (read(start + line).stages[-1].id == "finish") is ends
