"""One rank: it fits, and tells a histogram of its gradients after each step."""

import json
import os
import sys
import time

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meet", rank=rank, world_size=int(os.environ["WORLD_SIZE"]))
print(f"rank {rank}: pid {os.getpid()}", flush=True)
torch.manual_seed(rank)
pipe = os.open(sys.argv[1], os.O_WRONLY)
net = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
for step in range(1, 400):
    batch = torch.randn(128, 20)
    loss = (net(batch).squeeze(1) - batch.sum(1)).square().mean()
    net.zero_grad()
    loss.backward()
    values = {"loss": loss.item()}
    for name, part in net.named_parameters():
        dist.all_reduce(part.grad)
        counts = torch.histc(part.grad, 30)
        values |= {f"{name}.{index}": count for index, count in enumerate(counts.tolist())}
        with torch.no_grad():
            part -= 0.01 * part.grad / 4
    time.sleep(0.2)
    os.write(pipe, json.dumps({"step": step, "rank": rank, "values": values}).encode() + b"\n")
    if rank == 0:
        print(f"rank 0: step {step} loss {loss.item():.4f}", flush=True)
