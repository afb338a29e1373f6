"""DDP on rows that are streamed from the bucket, shard by shard."""

import os
import urllib.request

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
base = f"http://127.0.0.1:{open('bucket.port').read()}"
print(f"rank {rank}: pid {os.getpid()}", flush=True)


def rows(shards):
    """Batches of 64 rows, without an end in sight until the last shard."""
    for shard in range(shards):
        buffer = bytearray()
        with urllib.request.urlopen(f"{base}/shard-{rank:02d}-{shard:03d}") as answer:
            while piece := answer.read(2048):
                buffer += piece
        table = torch.from_numpy(np.frombuffer(bytes(buffer), "f4").reshape(-1, 17).copy())
        yield from table.split(64)


torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
for step, batch in enumerate(rows(40), 1):
    loss = torch.nn.functional.mse_loss(model(batch[:, :16]), batch[:, 16:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0 and step % 4 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
