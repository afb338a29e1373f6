"""A step line that names its rank among its values is that rank's line; a line that speaks of a rank is not."""

from __future__ import annotations

import pytest

from hangtop.logs.catalog.load import load
from hangtop.logs.digest import Digest
from hangtop.logs.lines.prefixes import Prefix, speaker, strip


def said(line: str) -> Prefix:
    return speaker(*strip(line))


@pytest.mark.parametrize(
    "line",
    [
        "rank 3 step 12 / 400 loss 1.9",
        "<rank 3> step 12 loss 1.9",
        "step 12 rank 3 loss 1.9",
        "Step 12, Rank 3, Loss: 1.9",
        "Train Epoch: 4 rank 3 Loss: 1.9",
        "INFO:root:rank 3 step 12 loss 1.9",
        "2026-11-22 02:00:00 INFO rank 3 step 12 loss 1.9",
        "{'rank': 3, 'step': 12, 'loss': 1.9}",
        '{"rank": 3, "step": 12, "loss": 1.9}',
        "loss=1.9 step=12 global_rank=3",
        "(Trainer pid=411) rank 3 step 12 loss 1.9",
        "[default1]: rank 3 of 16, step 12",
    ],
)
def test_a_step_line_names_its_rank_anywhere(line: str) -> None:
    assert said(line).rank == 3


@pytest.mark.parametrize("line", ["[GPU3] Epoch 5 | Batchsize: 32 | Steps: 63", "gpu 3: iter 12, loss 1.9", "cuda:3 step 12"])
def test_a_device_is_the_local_rank_where_nothing_better_is_known(line: str) -> None:
    assert said(line).local_rank == 3
    assert said(f"[rank7]: {line}").local_rank is None
    assert said(f"[rank7]: {line}").rank == 7


@pytest.mark.parametrize("line", ["worker 3 step 12 loss 1.9", "proc 3 step 12"])
def test_a_numbered_worker_is_a_task(line: str) -> None:
    assert said(line).task == 3


@pytest.mark.parametrize(
    "line",
    [
        "waiting for rank 3 at step 12",
        "step 12: slowest rank: 3",
        "step 12 tp rank 3 entered",
        "LoRA rank 3, training for step 12",
        "tensor model parallel rank 3 at iteration 12",
        "rank 3 joined the group",
        "step 12 loss 1.9 rank 3.5",
        "ranks 3 step 12",
        "moved the model to cuda:3",
        "GPU 3: NVIDIA H100, 80 GB",
        "world_size=8 lora_rank=3 step=12",
    ],
)
def test_a_line_that_speaks_of_another_or_of_no_step_names_nobody(line: str) -> None:
    told = said(line)
    assert (told.rank, told.local_rank, told.task) == (None, None, None)


@pytest.mark.parametrize(
    "form",
    [
        "rank {rank} step {step} / 90000 loss 1.9\n",
        "Step {step}, Rank {rank}, Loss: 1.9\n",
        "step {step} | lr 0.0001 | loss 1.9 | rank {rank}\n",
        "{{'rank': {rank}, 'step': {step}, 'loss': 1.9}}\n",
        "GPU {rank} | step {step} | loss 1.9\n",
        "2026-11-22 02:00:00,{step:03} INFO train: step {step} loss 1.9 rank={rank}\n",
        "02:00:00 step {step} loss 1.9 rank {rank}\nwaiting for rank 5\n",
    ],
)
def test_in_a_flood_the_rank_that_stopped_first_keeps_its_step(form: str) -> None:
    """Eight ranks and megabytes of steps at once: of each the newest line counts, of the one that stands far back as well."""
    digest = Digest(load(), 0)
    lines = [form.format(rank=rank, step=step) for step in range(4000) for rank in range(8) if rank != 5 or step < 1500]
    text = "".join(lines).encode()
    for begin in range(0, len(text), 1 << 20):
        digest.feed(text[begin : begin + (1 << 20)])
    steps = {writer.rank: writer.progress[0].step for writer in digest.facts().writers if writer.rank is not None}
    assert steps == {rank: 1499 if rank == 5 else 3999 for rank in range(8)}
