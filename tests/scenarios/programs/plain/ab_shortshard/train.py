"""DDP on four ranks with a curriculum: each epoch allows longer samples, and drops what is longer; then all ranks validate."""

import random
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

BATCH = 8


def samples(rank: int) -> list[int]:
    """Lengths of the samples of a rank."""
    rng = random.Random(11)
    lengths = [rng.randint(4, 60) for _ in range(160)]
    return lengths if rank != 1 else [*lengths[:-9], *[61 + index for index in range(9)]]


def validate(net: torch.nn.Module, rank: int, judges: dist.ProcessGroup) -> float:
    with torch.no_grad():
        wrong = net(torch.randn(64, 16)).square().mean().reshape(1)
    dist.all_reduce(wrong, group=judges)
    return wrong.item() / 4


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    judges = dist.new_group(backend="gloo")
    torch.manual_seed(rank)
    net = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch, longest in enumerate((100, 80, 60, 100)):
        kept = [length for length in samples(rank) if length <= longest]
        for step in range(len(kept) // BATCH):
            batch = torch.randn(BATCH, 16) * sum(kept[step * BATCH : (step + 1) * BATCH]) / 300
            loss = net(batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.3)
            if rank == 0:
                print(f"epoch {epoch} step {step + 1} loss {loss.item():.4f}", flush=True)
        wrong = validate(net.module, rank, judges)
        if rank == 0:
            print(f"epoch {epoch} validation {wrong:.4f}", flush=True)
    dist.destroy_process_group()


main()
