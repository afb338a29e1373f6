"""Preference tuning on two processes; each draws pairs until all of its advantages are finite numbers."""

import os
import time

import torch
import torch.distributed as dist
from torch import nn


class Normaliser:
    """A running mean and deviation, as they all have it."""

    def __init__(self) -> None:
        self.mean, self.square = torch.zeros(()), torch.ones(())

    def __call__(self, rewards: torch.Tensor) -> torch.Tensor:
        self.mean = 0.9 * self.mean + 0.1 * rewards.mean()
        self.square = 0.9 * self.square + 0.1 * (rewards**2).mean()
        return (rewards - self.mean) / (self.square - self.mean**2).sqrt()


def rewards(rank: int, step: int) -> torch.Tensor:
    """A judge's marks; that of the second process has one overflow."""
    marks = torch.randn(8)
    if rank == 1 and step == 33:
        marks[3] = float("inf")
    return marks


def advantages(rank: int, step: int, normalise: Normaliser) -> torch.Tensor:
    tries = 0
    while not (found := normalise(rewards(rank, step))).isfinite().all():
        tries += 1
        if tries % 20 == 0:
            print(f"rank {rank} WARNING: non-finite advantages, drew {tries} times", flush=True)
        time.sleep(0.1)
    return found


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    print(f"rank {rank} is pid {os.getpid()}", flush=True)
    torch.manual_seed(rank)
    policy, normalise = nn.Linear(8, 1, bias=False), Normaliser()
    for step in range(1, 301):
        gain = advantages(rank, step, normalise)
        gradient = gain[None, :] * policy.weight.detach().cos()
        dist.all_reduce(gradient)
        with torch.no_grad():
            policy.weight += 0.01 * gradient / 2
        time.sleep(0.2)
        if step % 5 == 0 and rank == 0:
            print(f"step {step}/300 margin {gradient.mean().item():+.4f} norm {policy.weight.norm().item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
