"""Sharded weights, gathered before and scattered after each layer, by forked ranks."""

from __future__ import annotations

import argparse
import multiprocessing
import time
from pathlib import Path

import torch
import torch.distributed as dist

WORLD = 3
WIDTH = 12


def gather(shard):
    """The whole weight from all shards."""
    parts = [torch.empty_like(shard) for _ in range(WORLD)]
    dist.all_gather(parts, shard)
    return torch.cat(parts)


def forward(shards, hidden):
    """Layer by layer, one weight in memory at a time."""
    for shard in shards:
        weight = gather(shard)
        hidden = torch.tanh(hidden @ weight.T)
        time.sleep(0.03)
    return hidden


def update(shards, hidden):
    """A made-up gradient, averaged, of which each rank keeps its rows."""
    rank = dist.get_rank()
    rows = WIDTH // WORLD
    for shard in reversed(shards):
        gradient = hidden.T @ hidden / hidden.shape[0]
        dist.all_reduce(gradient)
        mine = gradient[rank * rows : (rank + 1) * rows]
        shard -= 0.001 * mine / WORLD


def run(rank, folder, steps):
    """One rank."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=WORLD)
    shards = [torch.randn(WIDTH // WORLD, WIDTH) * 0.3 for _ in range(3)]
    for step in range(steps):
        began = time.perf_counter()
        hidden = torch.randn(20, WIDTH)
        hidden = forward(shards, hidden)
        update(shards, hidden)
        time.sleep(0.1)
        took = (time.perf_counter() - began) * 1000
        if rank == 0:
            print(f"[fsdp][{step:05d}] act={hidden.norm().item():.3f} step_ms={took:.0f} tok/s={2e4 / took:.0f}", flush=True)
    if rank == 0:
        print("[fsdp] reached max_steps, exiting", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    (given.folder / "store").unlink(missing_ok=True)
    context = multiprocessing.get_context("fork")
    ranks = [context.Process(target=run, args=(index, given.folder, given.steps)) for index in range(WORLD)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    if any(process.exitcode for process in ranks):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
