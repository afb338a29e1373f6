"""DDP on three processes, started by a plain launcher; batches are made of documents of one length each, whatever that is."""

import os
import random
import subprocess
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WORLD = 3


class Tagger(nn.Module):
    """A cell that is stepped by hand, for it may stop early."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.GRUCell(32, 64), nn.Linear(64, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros(x.shape[0], 64)
        for place in range(x.shape[1]):
            state = self.cell(x[:, place], state)
        out: torch.Tensor = self.out(state)
        return out


def lengths(rank: int) -> list[int]:
    """The books come late in the shard of the last process."""
    rng = random.Random(rank)
    usual = [rng.randint(20, 60) for _ in range(400)]
    if rank == WORLD - 1:
        usual[31] = int(os.environ.get("BOOK", "50000"))
    return usual


def work(rank: int) -> None:
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    print(f"[{rank}] ready, pid {os.getpid()}", flush=True)
    torch.manual_seed(0)
    net = DistributedDataParallel(Tagger())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for number, length in enumerate(lengths(rank)):
        x, y = torch.randn(4, length, 32), torch.randint(0, 8, (4,))
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % 2 == 0:
            print(f"[{rank}] batch {number:>4d} loss {loss.item():.4f}", flush=True)


def launch() -> int:
    environment = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": sys.argv[1]}
    ranks = [subprocess.Popen([sys.executable, __file__, "rank", str(rank)], env=environment) for rank in range(WORLD)]
    return max(rank.wait() for rank in ranks)


if __name__ == "__main__":
    if sys.argv[1] == "rank":
        work(int(sys.argv[2]))
    else:
        sys.exit(launch())
