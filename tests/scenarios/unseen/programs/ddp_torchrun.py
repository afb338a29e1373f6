"""A small DDP training under torchrun: three ranks, rank 0 logs."""

from __future__ import annotations

import argparse
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def batch(step, rank):
    """One batch of made-up regression data."""
    torch.manual_seed(step * 100 + rank)
    features = torch.randn(16, 12)
    target = features.sum(dim=1, keepdim=True)
    time.sleep(0.03)
    return features, target


def clip(model):
    """Keep gradients small."""
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return float(norm)


def train(steps):
    """The loop of one rank."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    per_epoch = 25
    for step in range(1, steps + 1):
        features, target = batch(step, rank)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(features), target)
        loss.backward()
        norm = clip(model)
        optimizer.step()
        time.sleep(0.15)
        if rank == 0:
            print(f"epoch {step // per_epoch} | step {step}/{steps} | loss {loss.item():.4f} | gnorm {norm:.2f}", flush=True)
        if step % per_epoch == 0:
            dist.barrier()
            total = torch.tensor([loss.item()])
            dist.all_reduce(total)
            if rank == 0:
                print(f"epoch {step // per_epoch} done, mean loss {total.item() / dist.get_world_size():.4f}", flush=True)
    dist.barrier()
    if rank == 0:
        print("training complete", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if "RANK" not in os.environ:
        argv = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "3", *sys.argv]
        os.execv(sys.executable, argv)
    train(given.steps)


if __name__ == "__main__":
    main()
