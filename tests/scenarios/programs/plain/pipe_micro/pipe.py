"""Four stages of a pipeline, micro-batches one after the other, activations and gradients by hand."""

import os

import torch
import torch.distributed as dist

MICRO, WIDTH, LENGTH = 4, 32, 24
SKIP_PADDING = False
"""A micro-batch in which every row is padding changes no weight."""

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
print(f"stage {rank} is pid {os.getpid()}", flush=True)
torch.manual_seed(rank)
stage = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.Linear(WIDTH, WIDTH))
optimizer = torch.optim.SGD(stage.parameters(), 0.01)
first, last = rank == 0, rank == world - 1


def lengths(step):
    """How many rows of each micro-batch are no padding; packed from the ends of the documents."""
    return [LENGTH - (7 * step + 5 * micro) % (LENGTH + 1) for micro in range(MICRO)]


for step in range(1, 400):
    kept, total = [], 0.0
    for rows in lengths(step):
        taken = torch.randn(LENGTH, WIDTH)
        if not first:
            dist.recv(taken, rank - 1)
        taken[rows:] = 0.0
        taken.requires_grad_()
        if SKIP_PADDING and rank == 2 and step > 9 and rows == 0:
            continue
        given = stage(taken)
        if last:
            loss = given[:rows].pow(2).sum() / LENGTH
            total += loss.item()
            kept.append((taken, loss))
        else:
            dist.send(given.detach(), rank + 1)
            kept.append((taken, given))
    optimizer.zero_grad()
    for taken, given in kept:
        if last:
            given.backward()
        else:
            gradient = torch.empty(LENGTH, WIDTH)
            dist.recv(gradient, rank + 1)
            given.backward(gradient)
        if not first:
            dist.send(taken.grad, rank - 1)
    optimizer.step()
    if last:
        print(f"iteration {step}/400 loss {total:.4f}", flush=True)
    dist.barrier()
dist.destroy_process_group()
