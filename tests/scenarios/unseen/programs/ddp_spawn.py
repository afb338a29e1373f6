"""Data parallel by torch.multiprocessing.spawn; every rank logs."""

from __future__ import annotations

import argparse
import logging
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

WORLD = 2


def average(model):
    """Mean of the gradients over all ranks."""
    for weight in model.parameters():
        dist.all_reduce(weight.grad)
        weight.grad /= WORLD


def evaluate(model, step):
    """Loss on held-out data, once in a while."""
    torch.manual_seed(step)
    features = torch.randn(64, 8)
    with torch.no_grad():
        guess = model(features)
        return float((guess - features.mean(dim=1, keepdim=True)).pow(2).mean())


def worker(rank, folder, steps):
    """One rank."""
    logging.basicConfig(format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s", level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=WORLD)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        features = torch.randn(32, 8)
        time.sleep(0.1)
        loss = (model(features) - features.mean(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        average(model)
        optimizer.step()
        time.sleep(0.1)
        logging.info("step=%d loss=%.5f lr=1e-2", step, loss.item())
        if step % 10 == 9:
            held_out = evaluate(model, step)
            logging.info("eval at %d: %.5f", step, held_out)
            dist.barrier()
    logging.info("finished %d steps", steps)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    Path(given.folder, "rendezvous").unlink(missing_ok=True)
    print(f"spawning {WORLD} workers", flush=True)
    mp.spawn(worker, args=(given.folder, given.steps), nprocs=WORLD)
    print("all workers returned", flush=True)


if __name__ == "__main__":
    main()
