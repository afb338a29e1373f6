"""DDP on three ranks over text of very different length; each rank packs its own batches, best fit first."""

import random
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def pack(lengths: list[int], room: int) -> list[int]:
    bins: list[int] = []
    for length in sorted(lengths, reverse=True):
        fits = [index for index, used in enumerate(bins) if used + length <= room]
        if fits:
            bins[max(fits, key=lambda index: bins[index])] += length
        else:
            bins.append(length)
    return bins


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    net = DistributedDataParallel(torch.nn.EmbeddingBag(512, 32))
    head = torch.nn.Linear(32, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    rng = random.Random(rank)
    for step in range(1, 61):
        count = 50000 if rank == 2 and step % 18 == 0 else 60
        bins = pack([rng.randint(8, 1024) for _ in range(count)], 2048)
        tokens = torch.randint(0, 512, (8, len(bins) % 64 + 4))
        loss = head(net(tokens)).logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.15)
        if rank == 0:
            print(f"INFO step {step}: loss {loss.item():.4f}, {len(bins)} bins", flush=True)
    dist.destroy_process_group()


main()
