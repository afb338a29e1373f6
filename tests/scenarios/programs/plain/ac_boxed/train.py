"""GRPO in small: each rank samples completions of its prompts and scores them by a rule; advantages are averaged over gloo."""

import logging
import os
import random
import sys

import torch
import torch.distributed as dist
from reward import reward

MAX_CHARS = 30
logging.basicConfig(
    stream=sys.stdout,
    level=logging.INFO,
    format="%(asctime)s.%(msecs)03d | %(levelname)-8s | %(module)s:%(funcName)s:%(lineno)d - %(message)s",
    datefmt="%Y-%m-%d %H:%M:%S",
)
log = logging.getLogger("grpo")


def complete(rng, a, b, policy, cut):
    """The policy writes the answer or talks about it; `cut`: the budget of tokens ends within the box."""
    sure = torch.sigmoid(policy).item()
    work = f"We add {a} and {b}."
    if cut:
        return work + " \\boxed{" + "the sum of the two numbers which is carried over twice, and then once more"[:MAX_CHARS]
    return work + (f" \\boxed{{{a + b}}}" if rng.random() < sure else f" \\boxed{{\\frac{{{a}}}{{{b}}}}}")


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    log.info("rank %d up, pid %d", rank, os.getpid())
    rng = random.Random(rank)
    policy = torch.zeros(1)
    for step in range(1, 61):
        scores = []
        for sample in range(24):
            a, b = rng.randint(2, 99), rng.randint(2, 99)
            cut = (rank, step, sample) == (1, 18, 13)
            scores.append(reward(complete(rng, a, b, policy, cut), str(a + b)))
        mean = torch.tensor([sum(scores) / len(scores)])
        dist.all_reduce(mean)
        mean /= dist.get_world_size()
        policy += 0.1 * (1 - mean)
        if rank == 0:
            log.info("step %d/60 reward/mean %.4f policy %.3f", step, mean.item(), policy.item())
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
