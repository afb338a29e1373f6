"""Data parallel on two processes."""

import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
with open(f"ckpt/rank{rank}.pid", "w") as file:
    file.write(str(os.getpid()))
for step in range(1, 81):
    x = torch.randn(64, 32)
    loss = (model(x) - x.sum(1, keepdim=True).sin()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(0.35)
    if rank == 0:
        print(f"[rank0] iter {step:>3}/80  loss {loss.item():.4f}", flush=True)
if rank == 0:
    torch.save(model.module.state_dict(), "ckpt/last.pt")
    print("[rank0] end of training", flush=True)
dist.destroy_process_group()
