"""A pipeline of three stages, one a process: activations go down by send, gradients come up; four micro-batches a step."""

import os
import time

import torch
import torch.distributed as dist

MICRO, ROWS, WIDTH = 4, 8, 48
DROPPED = -1
"""The step at which the middle stage believes to have a batch less."""
JUDGE_AT = -1
BEAMS = 40

dist.init_process_group("gloo")
rank, last = dist.get_rank(), dist.get_world_size() - 1
print(f"stage {rank} on pid {os.getpid()}", flush=True)
torch.manual_seed(rank)
stage = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh())
optimizer = torch.optim.SGD(stage.parameters(), lr=0.05)


def search(table):
    """The best paths through the last stage's table: plain Python, beam by beam."""
    rows = table.tolist()
    beams = [((), 0.0)]
    for _ in range(BEAMS):
        grown = [((path, k), score + row[k]) for path, score in beams for row in rows for k in range(0, WIDTH, 3)]
        beams = sorted(grown, key=lambda pair: -pair[1])[:24]
    return beams[0][1]


for step in range(1, 500):
    kept = []
    for micro in range(MICRO):
        if rank == 1 and step == DROPPED and micro == MICRO - 1:
            continue
        if rank == 0:
            x = torch.randn(ROWS, WIDTH)
        else:
            x = torch.empty(ROWS, WIDTH)
            dist.recv(x, src=rank - 1)
        x.requires_grad_()
        y = stage(x)
        if rank < last:
            dist.send(y.detach(), dst=rank + 1)
        kept.append((x, y))
    total = 0.0
    for x, y in kept:
        if rank == last:
            loss = (y - 0.3).pow(2).mean()
            loss.backward()
            total += loss.item() / MICRO
        else:
            gradient = torch.empty_like(y)
            dist.recv(gradient, src=rank + 1)
            y.backward(gradient)
        if rank > 0:
            dist.send(x.grad, dst=rank - 1)
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.25)
    if rank == last:
        print(f"step {step:4d} | loss {total:.5f}", flush=True)
        if step == JUDGE_AT:
            print(f"looking for the best paths, {BEAMS} beams", flush=True)
            print(f"best path: {search(stage[0].weight.detach()):.3f}", flush=True)
