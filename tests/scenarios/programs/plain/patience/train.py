"""DDP, each process with a validation part of its own, and early stopping."""

import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

PATIENCE = 5


class EarlyStopping:
    """Says when there was no gain for a while."""

    def __init__(self, patience: int) -> None:
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def __call__(self, loss: float) -> bool:
        self.bad = 0 if loss < self.best - 1e-4 else self.bad + 1
        self.best = min(self.best, loss)
        return self.bad >= self.patience


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s - rank{rank} - %(message)s")
    logging.info("pid %d of %d processes", os.getpid(), dist.get_world_size())
    torch.manual_seed(rank)
    noise = (0.0, 0.0, 6.0)[rank]
    x, truth = torch.randn(256, 16), torch.arange(16.0)
    y = x @ truth + torch.randn(256)
    held = torch.randn(64, 16)
    wanted = held @ truth + noise * torch.randn(64)
    net = DistributedDataParallel(nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.3)
    stopping = EarlyStopping(PATIENCE)
    for epoch in range(2000):
        for rows, targets in zip(x.split(32), y.split(32), strict=True):
            loss = (net(rows).squeeze(1) - targets).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        optimizer.param_groups[0]["lr"] *= 0.995
        with torch.no_grad():
            score = (net.module(held).squeeze(1) - wanted).pow(2).mean().item()
        logging.info("epoch %d val_loss %.4f", epoch, score)
        if stopping(score):
            logging.info("no improvement for %d epochs", PATIENCE)
            break
    dist.barrier()
    if rank == 0:
        torch.save(net.module.state_dict(), "best.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
