"""torch.distributed over gloo once more, as people write it: DDP, a loader, rank 0 prints, and one thing that goes wrong.

    ring.py FAULT [--world N] [--bad R …] [--step S] [--seconds T] [--folder F]

Needs torch, no GPU. Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, IterableDataset

LIFE_S = 240


class Job:
    """What a fault needs to know."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.folder, self.seconds, self.rank, self.world = Path(args.folder), args.seconds, dist.get_rank(), args.world


FAULTS = {}


def fault(function):
    FAULTS[function.__name__] = function
    return function


@fault
def healthy(job: Job) -> None:
    """Nothing happens."""


# ---- never come back -----------------------------------------------------------------------------------------------------------


@fault
def missing_key(job: Job) -> None:
    """Waits for a key that nobody writes into the store."""
    dist.distributed_c10d._get_default_store().get("teacher/address")


@fault
def monitored(job: Job) -> None:
    """One rank sleeps, the others are in a barrier that would name it, later."""
    time.sleep(3600)


@fault
def all_receive(job: Job) -> None:
    """A ring in which each receives first."""
    dist.recv(torch.zeros(4), src=(job.rank + 1) % job.world)


@fault
def skipped_backward(job: Job) -> None:
    """`if loss is nan: continue` in one rank only: it comes to the next step's metrics, the others are in the gradients."""
    dist.all_gather_object([None] * job.world, {"loss": float("nan")})


@fault
def worker_killed(job: Job) -> None:
    """A loader worker dies of SIGKILL while no one asks for a batch; then its rank waits for a queue nobody feeds."""
    context = multiprocessing.get_context("fork")
    batches = context.Queue()
    worker = context.Process(target=time.sleep, args=(LIFE_S,), name="prefetch")
    worker.start()
    os.kill(worker.pid, signal.SIGKILL)
    batches.get()


class Stuck(Dataset):
    """Its worker waits for a server that is silent."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        listener = socket.create_server(("127.0.0.1", 0))
        return torch.tensor(len(socket.create_connection(listener.getsockname()).recv(1)))


@fault
def remote_dataset(job: Job) -> None:
    next(iter(DataLoader(Stuck(), batch_size=2, num_workers=2)))


@fault
def loader_in_main(job: Job) -> None:
    """No workers: the rank itself waits for the silent server."""
    next(iter(DataLoader(Stuck(), batch_size=2, num_workers=0)))


@fault
def new_group(job: Job) -> None:
    """Makes a subgroup by itself; the others never heard of it."""
    dist.new_group(ranks=list(range(job.world)))


@fault
def object_broadcast(job: Job) -> None:
    """Waits for an object of rank 0, which trains on."""
    dist.broadcast_object_list([None], src=0)


# ---- slow but alive ------------------------------------------------------------------------------------------------------------


class Tokenizing(IterableDataset):
    """Its workers tokenize for long before the first batch."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __iter__(self) -> Iterator[torch.Tensor]:
        ends, text = time.monotonic() + self.seconds, "the quick brown fox " * 500
        while time.monotonic() < ends:
            tokens = [hash(word) for word in text.split()]
        yield torch.tensor(tokens[0] % 7)


@fault
def tokenizes(job: Job) -> None:
    next(iter(DataLoader(Tokenizing(job.seconds), batch_size=1, num_workers=2)))


@fault
def validates(job: Job) -> None:
    """A model on the CPU that generates token by token."""
    model = torch.nn.GRU(128, 256, num_layers=2)
    ends, state, token = time.monotonic() + job.seconds, None, torch.zeros(1, 1, 128)
    with torch.no_grad():
        while time.monotonic() < ends:
            out, state = model(token, state)
            token = out[..., :128]


@fault
def optimizer_steps(job: Job) -> None:
    """Every rank computes a long local step."""
    weight = torch.randn(600, 600, requires_grad=True)
    optimizer = torch.optim.Adam([weight])
    ends = time.monotonic() + job.seconds
    while time.monotonic() < ends:
        (weight @ weight.T).logsumexp(0).sum().backward()
        optimizer.step()


@fault
def sharded_save(job: Job) -> None:
    """Writes parts with a pause between: a slow object store, mounted."""
    part, ends, number = torch.randn(1 << 17), time.monotonic() + job.seconds, 0
    while time.monotonic() < ends:
        number += 1
        torch.save(part, job.folder / f"shard-{number % 8}.pt")
        time.sleep(0.2)


def rank_main(args: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    (Path(args.folder) / "imported").touch()
    dist.init_process_group("gloo", timeout=timedelta(minutes=20))
    job = Job(args)
    model = DistributedDataParallel(torch.nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, args.steps + 1):
        if step == args.step and job.rank in args.bad:
            FAULTS[args.fault](job)
        if step == args.step and args.fault == "monitored":
            dist.monitored_barrier(timeout=timedelta(minutes=20))
        loss = model(torch.randn(16, 64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.1)
        if job.rank == 0:
            print(f"Epoch: [0] [{step:>4}/{args.steps}]  eta: 0:00:10  loss: {loss.item():.4f}  time: 0.1", flush=True)


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
        rank_main(args)
        return 0
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    place = {"WORLD_SIZE": str(args.world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    start = [sys.executable, *sys.argv]
    ranks = [
        subprocess.Popen(start, env={**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(args.world)
    ]
    return max(abs(rank.wait()) for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())
