"""DDP on two ranks. Each stage has a data set of its own; rank 0 makes its cache, the others look until it is there."""

import json
import multiprocessing as mp
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from tokenise import shard

RANK = int(os.environ["RANK"])


def say(text: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [rank {RANK}] {text}", flush=True)


def data(stage: int, seconds: float) -> torch.Tensor:
    cache = Path(f"stage{stage}.json")
    if RANK == 0:
        say(f"stage {stage}: no cache, tokenising")
        with mp.get_context("fork").Pool(2) as pool:
            counts = pool.starmap(shard, [(number, seconds) for number in range(4)])
        cache.with_suffix(".tmp").write_text(json.dumps(counts))
        cache.with_suffix(".tmp").rename(cache)
    while not cache.exists():
        time.sleep(3)
    counted = torch.tensor(json.loads(cache.read_text()), dtype=torch.float32)
    return counted / counted.sum()


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    net = DistributedDataParallel(torch.nn.Linear(256, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for stage, seconds in enumerate((0.5, 22.0)):
        x = data(stage, seconds)
        for step in range(30):
            loss = (net(x) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.2)
            if RANK == 0:
                say(f"stage {stage} step {step} loss {loss.item():.4f}")
    dist.destroy_process_group()


main()
