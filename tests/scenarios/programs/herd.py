"""A home-made trainer whose functions have names of their own: ranks exchange through a hub process, and one thing goes wrong.

    herd.py FAULT [--world N] [--bad R …] [--step S] [--seconds T] [--folder F]

The first process forks the hub and starts the ranks with RANK and WORLD_SIZE. Nothing is named as torch names it: a rank waits for
its peers in `Peers.swap`, on a connection of multiprocessing. Rank 0 alone writes a line a step, as most trainers do.
Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path

import busy  # noqa: F401  its faults enter the table
import stuck  # noqa: F401
from faults import FAULTS, FORK, LIFE_S, Job


def hub(address: str, world: int) -> None:
    """Gives every rank the sum, once all have sent."""
    signal.alarm(LIFE_S)
    with Listener(address, "AF_UNIX", backlog=64) as listener:
        ranks = [listener.accept() for _ in range(world)]
    try:
        while True:
            total = sum(rank.recv() for rank in ranks)
            for rank in ranks:
                rank.send(total)
    except (EOFError, OSError):  # a rank is gone: as with NCCL, its peers hear nothing of it
        time.sleep(LIFE_S)


class Peers:
    """One rank's side of the hub."""

    def __init__(self, address: str) -> None:
        while not os.path.exists(address):
            time.sleep(0.05)
        self.line: Connection = Client(address, "AF_UNIX")

    def swap(self, value: float) -> float:
        self.line.send(value)
        return float(self.line.recv())


def train(args: argparse.Namespace) -> None:
    job = Job(int(os.environ["RANK"]), Path(args.folder), args.seconds)
    peers = Peers(str(job.folder / "hub"))
    for step in range(1, args.steps + 1):
        if job.rank in args.bad and step == args.step:
            FAULTS[args.fault](job)
        time.sleep(random.uniform(0.1, 0.2))
        loss = peers.swap(1 / step)
        if job.rank == 0:
            os.write(1, f"INFO:trainer:step {step}/{args.steps}, loss={loss:.4f}, lr=0.0001\n".encode())


def main() -> int:
    signal.alarm(LIFE_S)
    parser = argparse.ArgumentParser()
    parser.add_argument("fault", choices=sorted(FAULTS))
    parser.add_argument("--world", type=int, default=4)
    parser.add_argument("--bad", type=int, nargs="*", default=[2])
    parser.add_argument("--step", type=int, default=6)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--folder", default=".")
    args = parser.parse_args()
    if "RANK" in os.environ:
        train(args)
        return 0
    FORK.Process(target=hub, args=(str(Path(args.folder) / "hub"), args.world), daemon=True).start()
    start = [sys.executable, *sys.argv]
    ranks = [
        subprocess.Popen(start, env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(args.world)}) for rank in range(args.world)
    ]
    return max(abs(rank.wait()) for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())
