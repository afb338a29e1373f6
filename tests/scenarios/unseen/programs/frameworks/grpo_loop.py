"""Group-relative policy optimisation by hand, on two ranks: transformers' generate, reward functions, and a step of DDP."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import LlamaConfig, LlamaForCausalLM

GROUP = 4
PROMPT = 5
ANSWER = 8


def prompts(step, rank):
    """Two prompts, each as often as the group is large."""
    generator = torch.Generator().manual_seed(31 * step + rank)
    rows = torch.randint(3, 60, (2, PROMPT), generator=generator)
    return rows.repeat_interleave(GROUP, dim=0)


def rollout(policy, rows):
    """Answers that the policy samples."""
    policy.eval()
    with torch.no_grad():
        mask = torch.ones_like(rows)
        length = {"max_new_tokens": ANSWER, "min_new_tokens": ANSWER}
        whole = policy.generate(rows, attention_mask=mask, do_sample=True, pad_token_id=0, **length)
    policy.train()
    return whole


def variety(answer):
    """Many different tokens are good."""
    time.sleep(0.005)
    return len(set(answer)) / len(answer)


def rising(answer):
    """So are rising ones."""
    pairs = list(pairwise(answer))
    return sum(left < right for left, right in pairs) / len(pairs)


def rewards(pool, whole):
    """The sum of all reward functions, for each answer."""
    answers = whole[:, PROMPT:].tolist()
    various = list(pool.map(variety, answers))
    ascending = list(pool.map(rising, answers))
    return torch.tensor([one + other for one, other in zip(various, ascending, strict=True)])


def advantages(values):
    """How much better than the mean of the group."""
    groups = values.view(-1, GROUP)
    spread = groups.std(dim=1, keepdim=True) + 1e-4
    return ((groups - groups.mean(dim=1, keepdim=True)) / spread).flatten()


def log_probabilities(model, whole):
    """Of the tokens of the answers."""
    logits = model(input_ids=whole).logits[:, PROMPT - 1 : -1]
    return torch.log_softmax(logits, -1).gather(-1, whole[:, PROMPT:, None]).squeeze(-1)


def report(step, loss, reward, entropy, took):
    """A line as trainers of this kind write it."""
    told = {"loss": loss.item(), "reward": reward.item(), "entropy": entropy.item(), "step_time": took}
    rounded = {name: round(value, 4) for name, value in told.items()}
    print({**rounded, "step": step}, flush=True)


def train(steps):
    """What each rank does."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2)
    model = DistributedDataParallel(LlamaForCausalLM(config))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with ThreadPoolExecutor(2) as pool:
        for step in range(1, steps + 1):
            began = time.monotonic()
            rows = prompts(step, rank)
            whole = rollout(model.module, rows)
            values = rewards(pool, whole)
            gains = advantages(values)
            now = log_probabilities(model, whole)
            ratio = torch.exp(now - now.detach())
            loss = -(ratio * gains[:, None]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total = values.mean()
            dist.all_reduce(total)
            took = time.monotonic() - began
            if rank == 0:
                report(step, loss, total / dist.get_world_size(), -now.detach().mean(), took)
            if step % 10 == 0:
                dist.barrier()
    if rank == 0:
        print("done, policy is trained", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if "RANK" not in os.environ:
        argv = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *sys.argv]
        os.execv(sys.executable, argv)
    train(given.steps)


if __name__ == "__main__":
    main()
