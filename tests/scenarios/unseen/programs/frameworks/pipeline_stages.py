"""Three stages of torch.distributed.pipelining, GPipe schedule, under torchrun; the last stage knows the loss and logs."""

from __future__ import annotations

import argparse
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

WIDTH = 16
PARTS = 4
BATCH = 32


def stage_of(rank, world):
    """This rank's layers."""
    torch.manual_seed(rank)
    layers = [torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()]
    if rank == world - 1:
        layers.append(torch.nn.Linear(WIDTH, WIDTH))
    return torch.nn.Sequential(*layers)


def batch_of(step):
    """The same on all ranks."""
    generator = torch.Generator().manual_seed(step)
    values = torch.randn(BATCH, WIDTH, generator=generator)
    time.sleep(0.02)
    return values, values.roll(1, dims=1)


def distance(guess, target):
    """The loss of one part."""
    return torch.nn.functional.mse_loss(guess, target)


def report(step, losses, began):
    """A line by the last stage."""
    mean = torch.stack(losses).detach().mean().item()
    rate = BATCH / (time.monotonic() - began)
    print(f"INFO:pipeline:iteration {step:6d} loss={mean:.4f} samples/s={rate:.1f}", flush=True)


def same_step(step):
    """All stages agree on where they are."""
    largest = torch.tensor([step])
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return int(largest) == step


def train(steps):
    """What each rank does."""
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    module = stage_of(rank, world)
    stage = PipelineStage(module, rank, world, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=PARTS, loss_fn=distance)
    optimizer = torch.optim.Adam(module.parameters(), lr=5e-3)
    for step in range(1, steps + 1):
        began = time.monotonic()
        values, target = batch_of(step)
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(values)
        elif rank == world - 1:
            losses = []
            schedule.step(target=target, losses=losses)
        else:
            schedule.step()
        optimizer.step()
        time.sleep(0.12)
        if rank == world - 1:
            report(step, losses, began)
        if step % 10 == 0 and not same_step(step):
            raise RuntimeError("stages lost each other")
    dist.barrier()
    if rank == world - 1:
        print("INFO:pipeline:training finished", flush=True)
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
