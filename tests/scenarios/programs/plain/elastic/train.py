"""Starts again from its last snapshot when torchrun starts it again."""

import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, life = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
model = DistributedDataParallel(torch.nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
snapshot = Path("snapshot.pt")
first = torch.load(snapshot)["step"] + 1 if snapshot.exists() else 1
if rank == 0:
    print(f"life {life}: from step {first}", flush=True)
for step in range(first, 400):
    x = torch.randn(16, 32)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.6)
    if rank == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
        if step % 5 == 0:
            torch.save({"step": step, "model": model.module.state_dict()}, snapshot)
    if life == 0 and step == 8 and rank == 1:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
