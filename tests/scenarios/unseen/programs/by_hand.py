"""Ranks started by hand with the usual environment, each with a log of its own under logs/."""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

WORLD = 3


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def sample(rank, step):
    """Tokens of this rank's shard."""
    torch.manual_seed(rank + 31 * step)
    tokens = torch.randint(0, 50, (4, 16))
    time.sleep(0.05)
    return tokens


def train(folder, steps):
    """One rank; writes its own log."""
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    log = (folder / "logs" / f"rank_{rank}.log").open("a", buffering=1)
    dist.init_process_group("gloo")
    table = torch.nn.Embedding(50, 8)
    head = torch.nn.Linear(8, 50)
    log.write(f"rank {rank} of {WORLD} ready\n")
    began = time.monotonic()
    for step in range(1, steps + 1):
        tokens = sample(rank, step)
        logits = head(table(tokens[:, :-1]))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        for weight in (*table.parameters(), *head.parameters()):
            dist.all_reduce(weight.grad)
            weight.data -= 0.05 * weight.grad / WORLD
            weight.grad = None
        rate = step / (time.monotonic() - began)
        log.write(f"iter {step:>6} ppl {float(loss.exp()):8.2f} it/s {rate:5.2f}\n")
        time.sleep(0.15)
    log.write("end of training\n")
    dist.destroy_process_group()


def launch(folder):
    """Start all ranks, wait for all, end with the worst code."""
    (folder / "logs").mkdir(exist_ok=True)
    port = str(free_port())
    ranks = []
    for index in range(WORLD):
        told = {"RANK": str(index), "LOCAL_RANK": str(index), "WORLD_SIZE": str(WORLD)}
        told |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        ranks.append(subprocess.Popen([sys.executable, *sys.argv], env=os.environ | told))
    return max(abs(process.wait()) for process in ranks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    if "RANK" not in os.environ:
        sys.exit(1 if launch(given.folder) else 0)
    train(given.folder, given.steps)


if __name__ == "__main__":
    main()
