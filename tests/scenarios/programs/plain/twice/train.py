"""DDP by torchrun, two ranks; targets come from a table of classes."""

import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    net = DistributedDataParallel(torch.nn.Linear(16, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(rank)
    for step in range(200):
        x = torch.randn(8, 16, generator=generator)
        classes = torch.randint(0, 10 if step < 57 or rank == 0 else 12, (8,), generator=generator)
        loss = torch.nn.functional.cross_entropy(net(x), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.1)
        if step % 10 == 0:
            print(f"[rank {rank}] step {step} loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


main()
