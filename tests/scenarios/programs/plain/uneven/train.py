"""DDP over gloo, three ranks started by torch.multiprocessing; rank 0 evaluates with a pool of processes."""

import logging
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

from judge import judge

WORLD = 3


def evaluate(epoch: int) -> float:
    seconds = 0.5 if epoch == 0 else 20.0
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
        return sum(pool.map(judge, range(4), [seconds] * 4))


def batches(rank: int, epoch: int) -> list[torch.Tensor]:
    rows = torch.rand(3 * 100, 32)
    return list(rows[rank::WORLD].split(5))


def work(rank: int, store: str) -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format=f"%(asctime)s rank={rank} %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=WORLD)
    logging.info("pid %d", os.getpid())
    net = DistributedDataParallel(torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(3):
        for number, x in enumerate(batches(rank, epoch)):
            loss = net(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.2)
            if number % 5 == 4 and rank == 0:
                logging.info("epoch %d batch %d loss %.4f", epoch, number, loss.item())
        dist.barrier()
        if rank == 0:
            logging.info("epoch %d score %.3f", epoch, evaluate(epoch))
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(f"file://{os.getcwd()}/store",), nprocs=WORLD)
