"""A tower of layers in stages, one a process, by torch.distributed.pipelining."""

import os
import signal

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

WIDTH, ROWS, PARTS = 64, 32, 4


def stage_module(rank, world):
    layers = [torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()]
    if rank == world - 1:
        layers.append(torch.nn.Linear(WIDTH, 1))
    return torch.nn.Sequential(*layers)


def after(rank, step):
    """What is done between two steps."""
    if step % 25 == 0:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"stage {rank} of {world} runs as pid {os.getpid()}", flush=True)
    torch.manual_seed(rank)
    module = stage_module(rank, world)
    stage = PipelineStage(module, rank, world, torch.device("cpu"))
    schedule = Schedule1F1B(stage, PARTS, loss_fn=torch.nn.functional.mse_loss)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.02)
    for step in range(1, 100_000):
        numbers = torch.Generator().manual_seed(step)
        rows = torch.randn(ROWS, WIDTH, generator=numbers)
        losses = []
        if rank == 0:
            schedule.step(rows)
        elif rank == world - 1:
            schedule.step(target=rows.sum(1, keepdim=True).tanh(), losses=losses)
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()
        if losses and step % 5 == 0:
            print(f"[pp] step {step} loss {sum(loss.item() for loss in losses) / len(losses):.4f}", flush=True)
        after(rank, step)


main()
