"""DDP over files of different length; after each epoch rank 0 says in the store that its figures are written."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

ROWS = {0: 1280, 1: 1280, 2: 1280, 3: 1280}
dist.init_process_group("gloo", timeout=timedelta(hours=2))
rank = dist.get_rank()
print(f"rank {rank}: pid {os.getpid()}, {ROWS[rank]} rows", flush=True)
store = dist.distributed_c10d._get_default_store()
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(12, 48), torch.nn.Tanh(), torch.nn.Linear(48, 1)))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
rows = torch.randn(ROWS[rank], 13)
for epoch in range(1, 30):
    for number, batch in enumerate(rows.split(64), 1):
        loss = (model(batch[:, :12]) - batch[:, 12:]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and number % 4 == 0:
            print(f"epoch {epoch} batch {number} loss {loss.item():.4f}", flush=True)
    if rank == 0:
        store.set(f"figures-{epoch}", f"{loss.item():.4f}")
    best = float(store.get(f"figures-{epoch}"))
    if rank == 1:
        print(f"epoch {epoch}: figures {best:.4f}", flush=True)
dist.destroy_process_group()
