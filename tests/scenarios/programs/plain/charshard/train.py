"""A model of letters, sharded over all processes by fully_shard."""

import os
import sysconfig
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

BLOCK = 32


class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.net = torch.nn.Sequential(torch.nn.Linear(width, 2 * width), torch.nn.GELU(), torch.nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.net(self.norm(x))


class Letters(torch.nn.Module):
    def __init__(self, width=96, layers=3):
        super().__init__()
        self.table = torch.nn.Embedding(256, width)
        self.layers = torch.nn.ModuleList(Layer(width) for _ in range(layers))
        self.head = torch.nn.Linear(width, 256)

    def forward(self, tokens):
        x = self.table(tokens)
        x = x.cumsum(1) / torch.arange(1, x.shape[1] + 1).view(1, -1, 1)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"[{rank}] pid {os.getpid()}", flush=True)
    text = (Path(sysconfig.get_path("stdlib")) / "argparse.py").read_bytes()
    data = torch.tensor(list(text[: len(text) // BLOCK * BLOCK])).view(-1, BLOCK)
    torch.manual_seed(0)
    model = Letters()
    mesh = init_device_mesh("cpu", (world,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    chosen = torch.Generator().manual_seed(rank)
    for step in range(1, 100_000):
        rows = data[torch.randint(len(data), (8,), generator=chosen)]
        loss = torch.nn.functional.cross_entropy(model(rows)[:, :-1].flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
        if step % 80 == 0:
            mean = loss.detach() / world
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step} mean loss of all processes {mean.item():.4f}", flush=True)


main()
