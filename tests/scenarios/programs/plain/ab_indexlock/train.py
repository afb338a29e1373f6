"""One of three ranks; rank 0 writes its loss into the results every third step."""

import fcntl
import os
import time

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meet", rank=rank, world_size=3)
print(f"rank {rank}: pid {os.getpid()}", flush=True)
torch.manual_seed(rank)
weight = torch.zeros(32)
for step in range(1, 1000):
    batch = torch.randn(64, 32)
    grad = (batch.T @ (batch @ weight - batch.sum(1))) / 64
    dist.all_reduce(grad)
    weight -= 0.05 * grad / 3
    time.sleep(0.25)
    if rank == 0 and step % 3 == 0:
        with open("results.tsv", "a") as results:
            fcntl.lockf(results, fcntl.LOCK_EX)
            results.write(f"train\t{step}\t{grad.norm().item():.5f}\n")
    if rank == 0:
        print(f"rank 0: step {step} |g| {grad.norm().item():.5f}", flush=True)
