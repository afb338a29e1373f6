"""Three ranks on one machine; sequences get longer with the time, and so do steps."""

import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank: int, meet: str) -> None:
    dist.init_process_group("gloo", init_method=meet, rank=rank, world_size=3)
    torch.manual_seed(rank)
    cell = torch.nn.GRU(16, 32, batch_first=True)
    for step in range(1, 400):
        length = 16 if step < 95 else 64
        began = time.time()
        loss = cell(torch.randn(4, length, 16))[0].square().mean()
        cell.zero_grad()
        loss.backward()
        for part in cell.parameters():
            dist.all_reduce(part.grad)
            part.data -= 0.01 * part.grad / 3
        time.sleep(length / 130)
        if rank == 0:
            print(f"{time.strftime('%F %T')} rank 0 pid {os.getpid()} step {step} length {length} loss {loss.item():.5f} took {time.time() - began:.2f}s")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(f"file://{Path.cwd()}/meet",), nprocs=3)
