"""FSDP, two ranks; every so often the whole weights come to rank 0, which quantises them before the next steps."""

import os
import time

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel, StateDictType


def codebook(row, size):
    """Lloyd's means of one row."""
    means = torch.quantile(row, torch.linspace(0.02, 0.98, size))
    for _ in range(180):
        nearest = (row[:, None] - means[None]).abs().argmin(1)
        sums = torch.zeros(size).index_add_(0, nearest, row)
        means = sums / torch.bincount(nearest, minlength=size).clamp(min=1)
    return means


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = torch.nn.Sequential(*(layer for _ in range(3) for layer in (torch.nn.Linear(768, 768), torch.nn.GELU())))
    model = FullyShardedDataParallel(net, device_id=torch.device("cpu"))
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    print(f"rank{rank}: pid={os.getpid()} shards ready", flush=True)
    for step in range(40):
        began = time.monotonic()
        x = torch.randn(16, 768)
        loss = (model(x) - x.roll(1, 1)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"rank{rank}: iter={step} loss={loss.item():.4f} dt={time.monotonic() - began:.2f}", flush=True)
        if step == 14:
            with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)):
                weights = model.state_dict()
            if rank == 0:
                books = {name: torch.stack([codebook(row, 16) for row in value]) for name, value in weights.items() if value.dim() == 2}
                torch.save(books, "quantised.pt")
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
