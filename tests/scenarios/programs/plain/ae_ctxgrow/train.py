"""Pretraining whose context doubles on a schedule. Each rank keeps its own log: logs/rank0.log, logs/rank1.log."""

import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SCHEDULE = ((1, 128), (11, 512), (17, 2048), (18, 4096))
STEPS = 24


class Reader(nn.Module):
    """Attention with plain scores, as in the paper's listing."""

    def __init__(self, dim: int = 96, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.embed = nn.Embedding(512, dim)
        self.qkv = nn.ModuleList(nn.Linear(dim, 3 * dim) for _ in range(3))
        self.out = nn.ModuleList(nn.Linear(dim, dim) for _ in range(3))
        self.head = nn.Linear(dim, 512)

    def forward(self, tokens):
        hidden = self.embed(tokens)
        batch, length, dim = hidden.shape
        mask = torch.triu(torch.full((length, length), float("-inf")), 1)
        for qkv, out in zip(self.qkv, self.out):
            q, k, v = qkv(hidden).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            scores = torch.softmax(q @ k.transpose(-1, -2) * dim**-0.5 + mask, -1)
            hidden = hidden + out((scores @ v).transpose(1, 2).reshape(batch, length, dim))
        return self.head(hidden)


def context(step: int) -> int:
    return next(length for start, length in reversed(SCHEDULE) if step >= start)


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(filename=f"logs/rank{rank}.log", level=logging.INFO, format=f"%(asctime)s rank{rank} %(message)s", datefmt="%H:%M:%S")
    torch.manual_seed(0)
    model = DistributedDataParallel(Reader())
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    dice = torch.Generator().manual_seed(rank)
    logging.info("pid %d, %d parameters", os.getpid(), sum(p.numel() for p in model.parameters()))
    for step in range(1, STEPS + 1):
        length = context(step)
        if length != context(step - 1 or 1):
            logging.info("context is %d now", length)
        began = time.monotonic()
        for micro in range(8):
            tokens = torch.randint(0, 512, (1, length + 1), generator=dice)
            with model.no_sync() if micro < 7 else torch.enable_grad():
                loss = nn.functional.cross_entropy(model(tokens[:, :-1])[0], tokens[0, 1:])
                loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        logging.info("step %d/%d ctx %d loss %.4f %.2f s", step, STEPS, length, loss.item(), time.monotonic() - began)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
