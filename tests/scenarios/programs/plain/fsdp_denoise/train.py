"""Sharded over all processes by fully_shard: learns to take noise off rows of text, seen as numbers."""

import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

parser = argparse.ArgumentParser()
parser.add_argument("--slow-rank", type=int, default=-1)
parser.add_argument("--guard", action="store_true", help="leave out a batch whose loss is not finite")
given = parser.parse_args()

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (world,))
layers = [torch.nn.Sequential(torch.nn.Linear(96, 96), torch.nn.SiLU()) for _ in range(4)]
for layer in layers:
    fully_shard(layer, mesh=mesh)
model = torch.nn.Sequential(*layers)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
print(f"[{rank}/{world}] pid {os.getpid()}", flush=True)


def augmented(step, rounds):
    """Rows of a chaotic map, in plain Python; more rounds, more chaos."""
    rows = []
    for row in range(48):
        value, out = 0.1 + 0.8 * ((step * 48 + row) * 0.61803 % 1), []
        for _ in range(96):
            for _ in range(rounds):
                value = 3.9 * value * (1 - value)
            out.append(value)
        rows.append(out)
    return torch.tensor(rows)


for step in range(2000):
    clean = augmented(step, 36_000 if rank == given.slow_rank and step in (15, 16, 17) else 360)
    noisy = clean + 0.1 * torch.randn_like(clean)
    if given.guard and rank == 1 and step == 21:
        noisy[3, 5] = float("inf")
    loss = (model(noisy) - clean).pow(2).mean()
    if given.guard and not torch.isfinite(loss):
        print(f"[{rank}/{world}] step {step}: loss is {loss.item()}, batch left out", flush=True)
        optimizer.zero_grad()
        continue
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if rank == 0:
        print(f"step {step:4d} mse {loss.item():.5f}", flush=True)
