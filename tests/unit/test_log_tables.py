"""Steps that are told by where a line stands: rows below a line of names, and values below the line that tells the step."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hangtop.logs.catalog.checks import hostile_texts
from hangtop.logs.extract.steps.step_tables import REACH
from tests.fakes.read_log import read


def told(text: str) -> tuple[int | None, int | None, float | None]:
    progress = read(text).progress
    return progress.step, progress.total, progress.metrics.get("loss")


TABLES = {
    "commas": ("step,loss,lr\n10,3.9,0.1\n20,3.8,0.1\n", (20, None, 3.8)),
    "commas, and cells without a value": ("epoch,step,train_loss,val_loss\n0,49,2.5,\n0,99,,\n", (99, None, 2.5)),
    "semicolons": ("epoch;loss\n1;2.5\n2;2.25\n", (2, None, 2.25)),
    "tabs": ("Step\tTraining Loss\n10\t2.5\n20\t2.25\n", (20, None, 2.25)),
    "bars": ("| Step | Training Loss |\n|------|------|\n| 500 | 2.5 |\n| 1,000 | 2.25 |\n", (1000, None, 2.25)),
    "blanks": ("   step      loss        lr\n     10   2.5000  1.00e-04\n     20   2.2500  1.00e-04\n", (20, None, 2.25)),
    "single blanks": ("epoch loss acc\n1 2.5 0.1\n2 2.25 0.2\n", (2, None, 2.25)),
    "a value that is missing": (
        "  epoch    train_loss    cp     dur\n      1        2.5000     +  0.0232\n      2        2.2500        0.0238\n",
        (2, None, 2.25),
    ),
    "so many of so many": (" Iteration | Loss\n-----------+------\n 100/900 | 2.5\n 200/900 | 2.25\n", (200, 900, 2.25)),
    "a clock before it": (
        "2026-03-04 09:12:05 INFO t.py:8   step   loss\n2026-03-04 09:12:06 INFO t.py:9     10   2.25\n",
        (10, None, 2.25),
    ),
    "a name before it": ("[n1:0] iter   loss\n[n1:0]    20   2.25\n", (20, None, 2.25)),
    "the sign of a comment": ("# step, train loss, sec/step\n20, 2.25, 0.4\n", (20, None, 2.25)),
    "quotes": ('"iter","loss/train"\n"20","2.25"\n', (20, None, 2.25)),
    "rows that are counted": ("   epoch  train_loss    lr\n0      1    2.50  0.01\n1      2    2.25  0.01\n", (2, None, 2.25)),
    "a remark": ("Step    Loss    LR\n10      2.50    0.1\n20      2.25    0.1  <- lower now\n", (20, None, 2.25)),
    "bold numbers": ("| Epoch | Train loss | Score (↑) |\n|---|---|---|\n| **4** | **2.25** | 97.4% |\n", (4, None, 2.25)),
    "a time in each row": ("time,step,loss\n2026-03-04 09:12:05,20,2.25\n", (20, None, 2.25)),
    "warnings between its rows": ("step,loss\n10,2.5\nUserWarning: lr is 3\n/a/b.py:3: slow\n20,2.25\n", (20, None, 2.25)),
    "a box around it": ("| step   loss   note  |\n|   10   2.50   first |\n|   20   2.25         |\n", (20, None, 2.25)),
    "names again before each row": ("| epoch | loss |\n| 1 | 2.5 |\n| epoch | loss |\n| 2 | 2.25 |\n", (2, None, 2.25)),
    "another table after it": ("step,loss\n10,2.5\nname,size\n20,4\nstep,loss,lr\n30,2.25,0.1\n", (30, None, 2.25)),
}  # fmt: skip
REPORTS = {
    "a list": ("step: 10\nloss: 2.5\n\nstep: 20\nloss: 2.25\n", (20, None, 2.25)),
    "a nested list": ("---\nglobal_step: 20\nmetrics:\n  grad_norm: 1.5\n  train_loss: 2.25\n", (20, None, 2.25)),
    "a list with evaluation": ("step: 20\ntrain:\n  loss: 2.25\neval:\n  loss: 5.5\n", (20, None, 2.25)),
    "a box": ("+-----+\n| step       | 20       |\n| loss       | 2.25     |\n+-----+\n", (20, None, 2.25)),
    "an epoch of so many": ("Epoch 2/9\n----------\ntrain Loss: 2.2500 Acc: 0.4\nval Loss: 3.1 Acc: 0.3\n", (2, 9, 2.25)),
    "an epoch that tells a measure": ("Epoch 1/9 - slope 1.003\nEpoch 2/9 - slope 1.001\n", (2, 9, None)),
    "an epoch in a box": ("|  Epoch |   1 |\n|  LossPi |  3 |\n|  Epoch |   2 |\n|  Epoch |   3 |\n", (3, None, None)),
    "samples of an epoch": ("Epoch 2\n-------\nloss: 2.50  [   64/60000]\nloss: 2.25  [ 6464/60000]\n", (6464, 60000, 2.25)),
    "its average behind": (" -- STEP: 25/400 -- GLOBAL_STEP: 25\n     | > loss: 2.25  (2.5)\n", (25, 400, 2.25)),
    "only a number that grows": ("step: 10\nstep: 20\nstep: 30\n", (30, None, None)),
}
LINES = {
    "episodes": ("Episode 100\tAverage Score: 0.84\nEpisode 200\tAverage Score: 3.73\n", (200, None, None)),
    "rounds of a federation": ("INFO :      [ROUND 1]\nINFO :      [ROUND 2]\n", (2, None, None)),
    "it": ("It: 100, Loss: 2.25e+00, Time: 0.5\n", (100, None, 2.25)),
    "boosting": ("[28]\ttrain-logloss:0.3\teval-logloss:0.4\n[29]\ttrain-logloss:0.2\teval-logloss:0.4\n", (29, None, 0.2)),
    "rounds in Chinese": ("第 3/50 轮 损失: 2.25 准确率: 0.6\n", (3, 50, 2.25)),
    "steps in Japanese": ("エポック 1/10 ステップ 50/250 損失: 2.25\n", (50, 250, 2.25)),
    "darknet": (
        " 3: 2.5, 2.4 avg loss, 0.1 rate, 8.1 seconds, 64 images\n 4: 2.3, 2.25 avg loss, 0.1 rate, 8.1 seconds\
, 128 images, 1 hours left\n",
        (4, None, 2.25),
    ),
    "WeNet, and its evaluation": (
        "DEBUG TRAIN Batch 0/1900 loss 2.25 lr 0.1 rank 0\nDEBUG CV Batch 0/100 loss 9.5 history loss 9.1 rank 0\n",
        (1900, None, 2.25),
    ),
    "WeNet since version 3": ("DEBUG TRAIN | steps/sec 3.210| Batch 1/200 loss 2.25 lr 0.1 rank 0\n", (200, None, 2.25)),
    "thousands": ("INFO t.py:4 step:800 loss:2.5 lr:1e-5\nINFO t.py:4 step:12K loss:2.25 lr:1e-5\n", (12000, None, 2.25)),
    "an epoch and its step": ("DLL - (0, 6) loss : 2.5 lr : 1\nDLL - (0, 7) loss : 2.25 lr : 1\n", (7, None, 2.25)),
    "fairseq": (
        "{'max_epoch': 0, 'max_update': 3000, 'clip_norm': 0.1}\n"
        "epoch 002:     10 / 1102 loss=2.25, nll_loss=9, num_updates=1112, lr=1e-07\n",
        (1112, 3000, 2.25),
    ),
    "fairseq without a limit": (
        "Namespace(max_epoch=0, max_update=0)\nepoch 001: 1 / 9 loss=2.25, num_updates=1\n",
        (1, None, 2.25),
    ),
    "a loss by another name": ("step 7/9 avr_loss=2.25 val_loss=9.5\n", (7, 9, 2.25)),
    "losses of which one is the loss": ("step 7/9 aux_loss=9 policy_loss=8 loss=2.25\n", (7, 9, 2.25)),
    "evaluation with the same words": ("train (8/20) loss: 2.25 | lr: 1\nvalid (8/20) loss: 9.5 | lr: 1\n", (8, 20, 2.25)),
    "batches in a sentence": ("Finished batch 510 out of 2,400 (loss was 2.25, took 1.2 seconds)\n", (510, 2400, 2.25)),
    "JSON": ('json_stats: {"epoch": "1/200", "iter": "390/1000", "loss": 2.25}\n', (390, 1000, 2.25)),
    "updates": ("| update 290/5000 | ce 2.25 | 8.1k tok/s\n", (290, 5000, None)),
    "so many at a rate": (
        "Train | Epoch 1 | 50/2000 | 3.12 it/sec | ce 2.25\nValid | Epoch 1 | 9/20 | 9.1 it/sec\n",
        (50, 2000, 2.25),
    ),
    "lines of one message": (
        "I0304 09:12:05.101221 140123 controller.py:486] train | step:    100 | steps/sec:    3.1 | output:\n"
        "    {'learning_rate': 0.1,\n     'training_loss': 2.25}\n",
        (100, None, 2.25),
    ),
    "frames": ("fps step: 1129 fps total: 781 epoch: 10/1500 frames: 589824\n", (10, 1500, None)),
}
NOTHING = {
    "settings": "  epoch: 100\n  step: 10\n  loss: mse\n  lr: 0.1\n  step: 30\n",
    "a mapping of settings": "{'epoch': 100, 'step': 10, 'loss': 'mse'}\n",
    "an epoch that begins": "Epoch 9/9\n",
    "parameters": "| Parameter  | Value |\n| Epoch      |    10 |\n| Loss       |   bce |\n| Learning rate | 0.1 |\nEpoch: 10\n",
    "rows of data": "        step   label\n0         12     cat\n1        500     dog\n",
    "scores of checkpoints": "checkpoint,step,bleu\nbest,380,27.1\n",
    "a sentence": "In this step, the loss is, as said, small\n1, 2, 3, 4\n",
    "names without rows": "| Step | Training Loss |\nfinished 20 of 30\n",
    "files that are fetched": "Downloading 12/300 files, 3.1 it/sec\nProcessed prompts 12/300, 812 tok/s\n",
    "an installer": "update 3.2/5 of the index\nUpdate 2024/11/03 of the driver\n",
    "instructions": "Step 1. Mix 2K of flour\nStep: 3B parameters are trained\n",
    "a conversation": "<|im_start|>assistant\n| Step | Loss |\n| 500 | 0.1 |\nstep,loss\n7,0.1\n<|im_end|>\n",
}


@pytest.mark.parametrize("what", TABLES)
def test_rows_below_a_line_of_names_are_steps(what: str) -> None:
    assert told(TABLES[what][0]) == TABLES[what][1]


@pytest.mark.parametrize("what", REPORTS)
def test_values_below_a_step_are_its_own(what: str) -> None:
    assert told(REPORTS[what][0]) == REPORTS[what][1]


@pytest.mark.parametrize("what", LINES)
def test_a_line_of_its_own_tells_a_step(what: str) -> None:
    assert told(LINES[what][0]) == LINES[what][1]


def test_a_column_tells_whose_row_it_is() -> None:
    rows = "".join(f"{rank},{step},{4 - rank / 10}\n" for step in (10, 20) for rank in (0, 1)) + "0,30,3\n"
    ranks = {rank.rank: (rank.step, rank.metrics["loss"]) for rank in read("rank,step,loss\n" + rows).ranks}
    assert ranks == {0: (30, 3.0), 1: (20, 3.9)}


def test_a_list_of_the_best_has_places_and_no_ranks() -> None:
    best = "| rank | step | reward |\n| 1 | 400 | 9.5 |\n| 2 | 100 | 9.1 |\n| 3 | 300 | 8.8 |\n"
    assert read(best + best).ranks == ()


@pytest.mark.parametrize("what", NOTHING)
def test_what_only_looks_like_steps_is_none(what: str) -> None:
    assert read(NOTHING[what]).progress.step is None


@pytest.mark.parametrize("prefix", ["[rank1]: ", "\x1b[36m(Worker pid=7)\x1b[0m ", "2026-03-04 09:12:05 | INFO | "])
def test_a_table_among_the_lines_of_others_is_read(prefix: str) -> None:
    rows = TABLES["blanks"][0].splitlines()
    assert told("".join(f"{prefix}{row}\n[rank0]: 30 9.5\n" for row in rows)) == (20, None, 2.25)


@given(what=st.sampled_from([*TABLES, *REPORTS, *NOTHING]), cuts=st.lists(st.integers(1, 8), max_size=4, unique=True))
@settings(max_examples=200, deadline=None)
def test_it_does_not_matter_after_which_lines_one_asks(what: str, cuts: list[int]) -> None:
    text = NOTHING.get(what) or (TABLES | REPORTS)[what][0]
    whole = read(text)
    ends = [found.end() for found in re.finditer(rb".*\n", text.encode())]
    parts = read(text, *(ends[cut] for cut in cuts if cut < len(ends)))
    assert (parts.progress, parts.pace, parts.ranks, parts.stages) == (whole.progress, whole.pace, whole.ranks, whole.stages)


PIECES = st.lists(
    st.sampled_from(["step", "loss", "lr", "#", "|", "│", "  ", " ", "\t", ",", "1", "2.5", "1/9", "(x)", "[n]", '"'])
)


@given(names=PIECES, row=PIECES)
@settings(max_examples=300, deadline=None)
def test_whatever_stands_there_breaks_nothing(names: list[str], row: list[str]) -> None:
    read("".join(["step", *names, "loss\n", *row, "\n"]))


def test_a_hostile_line_takes_no_time_below_names_or_a_step() -> None:
    begun = time.process_time()
    for text in (*hostile_texts(("step ", "| Epoch"), "| Step | Loss |"), "step  " * 9_000, "| a " * 9_000):
        assert told(f"step,loss\n10,2.5\nStep | Loss\n{text}\nstep: 10\n{text} loss\n")[0] in (10, None), text[:60]
    assert time.process_time() - begun < 60.0


def test_of_a_long_table_the_newest_row_counts() -> None:
    rows = "".join(f"{step},{4 - step / 1e6:.6f}\n" for step in range(1, 200_000))
    assert told(f"step,loss\n{rows}") == (199_999, None, 3.800001)


def test_a_table_ends_when_others_write_much() -> None:
    log = "step,loss\n10,2.5\n" + "{}20,2.25\n"
    line = "[rank3]: NCCL INFO Channel 00 via P2P\n"
    assert told(log.format(line * (REACH // 4 // len(line)))) == (20, None, 2.25)
    assert told(log.format(line * (2 * REACH // len(line)))) == (10, None, 2.5)


def test_a_table_ends_when_no_rows_come() -> None:
    assert told("step,loss\n10,2.5\n" + "nothing of it\n" * 200 + "20,3.5\n") == (10, None, 2.5)
