"""Two ranks over gloo on a machine that others need at times: then all ranks rest until an hour that rank 0 says."""

import os
import time

import torch
import torch.distributed as dist

REST = {50: 75}
"""After which step, and how many seconds."""
dist.init_process_group("gloo")
rank = dist.get_rank()
print(f"rank {rank} pid {os.getpid()}", flush=True)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 32))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(1, 301):
    optimizer.zero_grad()
    loss = model(torch.randn(16, 32)).pow(2).mean()
    loss.backward()
    optimizer.step()
    if rank == 0:
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} step {step}/300 loss {loss.item():.4f}", flush=True)
    until = torch.zeros(1, dtype=torch.float64)
    if rank == 0 and step in REST:
        until += time.time() + REST[step]
        at = time.strftime("%H:%M:%S", time.localtime(until.item()))
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} the machine is reserved for the lecture: training rests until {at}", flush=True)
    dist.broadcast(until, 0)
    time.sleep(max(until.item() - time.time(), 0.05))
dist.destroy_process_group()
