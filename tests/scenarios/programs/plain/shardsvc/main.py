"""Three ranks by mp.spawn; each has a loader with a worker that fetches its shards from shardd."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

RANKS, SHARDS, STEPS = 3, 40, 160


class Remote(IterableDataset):
    def __init__(self, rank: int, port: int) -> None:
        self.rank, self.port = rank, port

    def __iter__(self) -> Iterator[torch.Tensor]:
        for number in range(SHARDS):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/shard-{self.rank:02d}{number:02d}") as answer:
                data = bytearray(answer.read())
            for rows in torch.frombuffer(data, dtype=torch.uint8).float().div(255).reshape(-1, 16, 48).split(32):
                yield rows


def train(rank: int, port: int, store: int) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store)}
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(48, 24), nn.Tanh(), nn.Linear(24, 48))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    print(f"[rank {rank}] up, pid {os.getpid()}", flush=True)
    loader = DataLoader(Remote(rank, port), batch_size=None, num_workers=1, prefetch_factor=2)
    began, step = time.time(), 0
    for rows in loader:
        time.sleep(0.05)
        loss = (model(rows) - rows).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        flat = torch.cat([weight.grad.flatten() for weight in model.parameters()])
        dist.all_reduce(flat)
        start = 0
        for weight in model.parameters():
            weight.grad.copy_(flat[start : start + weight.numel()].view_as(weight) / RANKS)
            start += weight.numel()
        optimizer.step()
        step += 1
        if rank == 0:
            print(f"{step:>5}/{STEPS}  loss={loss.item():.5f}  {step * 32 * RANKS / (time.time() - began):7.1f} rows/s", flush=True)
    dist.destroy_process_group()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def main() -> None:
    subprocess.run([sys.executable, "pack.py"], check=True)
    port, store = free_port(), free_port()
    shardd = subprocess.Popen([sys.executable, "shardd.py", str(port)])
    time.sleep(1.0)
    mp.spawn(train, (port, store), nprocs=RANKS)
    shardd.terminate()


if __name__ == "__main__":
    main()
