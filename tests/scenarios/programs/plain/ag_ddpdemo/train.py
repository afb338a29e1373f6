"""The demo of our monitor: DDP over gloo on one machine, small enough for a laptop.

torchrun --nproc-per-node 3 train.py
"""

import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EPOCHS = 8


def jitter(images: torch.Tensor, rank: int, step: int) -> torch.Tensor:
    """A little noise, and now and then a flip."""
    time.sleep(0.1)
    noisy = images + 0.05 * torch.randn_like(images)
    return noisy.flip(1) if (step + rank) % 5 == 0 else noisy


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank}/{world} pid {os.getpid()} ready", flush=True)
    dist.barrier()
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(1536, 64), torch.randint(0, 10, (1536,)))
    sampler = DistributedSampler(data, world, rank, seed=3)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 10)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    loss_of = nn.CrossEntropyLoss()
    total, step = EPOCHS * len(loader), 0
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            step += 1
            optimizer.zero_grad()
            loss = loss_of(model(jitter(images, rank, step)), labels)
            loss.backward()
            optimizer.step()
            if rank == 0 and step % 5 == 0:
                print(f"[{time.strftime('%H:%M:%S')}] epoch {epoch} step {step}/{total} loss {loss.item():.4f}", flush=True)
    dist.barrier()
    if rank == 0:
        print("demo done", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
