"""Ranks that use torch.distributed over gloo, and one thing that goes wrong. Needs torch, no GPU.

    gloo.py FAULT [--by popen|spawn|torchrun] [--world N] [--rank R …] [--step S] [--seconds T] [--folder F]

Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

LIFE_S = 240


def say(words: str) -> None:
    stamp = f"{datetime.now():%Y-%m-%d %H:%M:%S,%f}"[:-3]
    os.write(1, f"[rank{os.environ['RANK']}]: {stamp} INFO train: {words}\n".encode())


def tokenizer_wait(lock: threading.Lock) -> None:
    lock.acquire()


def lock(args: argparse.Namespace) -> None:
    held = threading.Lock()
    held.acquire()
    tokenizer_wait(held)


def sleep(args: argparse.Namespace) -> None:
    time.sleep(3600)


def spin(args: argparse.Namespace) -> None:
    number = 0
    while True:
        number += 1


def mismatch(args: argparse.Namespace) -> None:
    dist.broadcast(torch.ones(4), src=args.rank[0])


def stopped(args: argparse.Namespace) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def save(args: argparse.Namespace) -> None:
    """Slow but alive: writes checkpoints for a while."""
    ends = time.monotonic() + args.seconds
    weights = {f"layer{number}": torch.randn(1 << 18) for number in range(16)}
    while time.monotonic() < ends:
        torch.save(weights, Path(args.folder) / "model.pt")


def matmul(args: argparse.Namespace) -> None:
    """Slow but alive: computes in C++ for a while."""
    ends = time.monotonic() + args.seconds
    left = torch.randn(512, 512)
    while time.monotonic() < ends:
        left = torch.tanh(left @ left)


class Locked(Dataset):
    """A data set whose lock was held by a thread of the trainer when the workers were forked: they all wait for ever."""

    LOCK = threading.Lock()

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> torch.Tensor:
        with self.LOCK:
            return torch.ones(4) * index


class Slow(Locked):
    """A data set that takes its time, with work."""

    def __getitem__(self, index: int) -> torch.Tensor:
        ends = time.monotonic() + 8
        while time.monotonic() < ends:
            sum(number * number for number in range(10**5))
        return torch.ones(4) * index


def loader_deadlock(args: argparse.Namespace) -> None:
    Locked.LOCK.acquire()
    for _ in DataLoader(Locked(), batch_size=4, num_workers=2, multiprocessing_context="fork"):
        pass


def loader_slow(args: argparse.Namespace) -> None:
    for _ in DataLoader(Slow(), batch_size=4, num_workers=2, multiprocessing_context="fork"):
        return


def both_receive(args: argparse.Namespace) -> None:
    """Two ranks receive from each other, none sends."""
    mine = args.rank.index(dist.get_rank())
    dist.recv(torch.zeros(4), src=args.rank[1 - mine])


def reads_batch(args: argparse.Namespace) -> None:
    """A loader worker that reads a pipe nobody writes."""
    for _ in DataLoader(Piped(Path(args.folder)), batch_size=1, num_workers=1, multiprocessing_context="fork"):
        return


class Piped(Locked):
    def __init__(self, folder: Path) -> None:
        self.path = folder / "shard.pipe"
        os.mkfifo(self.path)

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.ones(4) * len(self.path.read_bytes())


def one_more(args: argparse.Namespace) -> None:
    """One gradient more than its peers have: an all_gather that they never enter."""
    dist.all_gather([torch.zeros(4) for _ in range(args.world)], torch.ones(4))


def sync_weights(args: argparse.Namespace) -> None:
    """The rollout rank still waits for its engine, the others broadcast to it."""
    time.sleep(3600)


def compiles(args: argparse.Namespace) -> None:
    """Slow but alive: C++ files, one after the other."""
    source = Path(args.folder) / "kernel.cpp"
    source.write_text("#include <regex>\n#include <map>\nint main() { std::regex r(\"a+\"); std::map<int,int> m; return m[1]; }\n")
    ends = time.monotonic() + args.seconds
    while time.monotonic() < ends:
        subprocess.run(["g++", "-O2", "-o", str(source.with_suffix(".bin")), str(source)], check=True)


def backward(args: argparse.Namespace) -> None:
    """Slow but alive: one very big batch, forward and backward."""
    ends = time.monotonic() + args.seconds
    layers = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(8)))
    while time.monotonic() < ends:
        layers(torch.randn(2048, 512)).square().mean().backward()


def healthy(args: argparse.Namespace) -> None:
    """Nothing happens."""


FAULTS = {
    fault.__name__: fault
    for fault in (
        lock, sleep, spin, mismatch, stopped, save, matmul, loader_deadlock, loader_slow, healthy, both_receive, reads_batch, one_more,
        sync_weights, compiles, backward,
    )
}


def rank_main(args: argparse.Namespace) -> None:
    rank = int(os.environ["RANK"])
    torch.set_num_threads(1)
    (Path(args.folder) / "imported").touch()
    say("initializing process group backend=gloo")
    dist.init_process_group("gloo", timeout=timedelta(minutes=10))
    say("process group ready")
    say(f"starting training loop for {args.steps} steps")
    model = torch.nn.Linear(32, 32)
    for step in range(1, args.steps + 1):
        if step == args.step and args.announce:
            say(args.announce)
        if rank in args.rank and step == args.step:
            FAULTS[args.fault](args)
        loss = model(torch.randn(8, 32)).square().mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        time.sleep(0.1)
        say(f"step {step}/{args.steps} loss {loss.item():.4f}")
    dist.barrier()
    say("training finished")


def spawned(local_rank: int, args: argparse.Namespace, port: int) -> None:
    os.environ.update(RANK=str(local_rank), WORLD_SIZE=str(args.world), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    signal.alarm(LIFE_S)
    rank_main(args)


def launch(args: argparse.Namespace) -> int:
    if args.by == "torchrun":
        torchrun = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={args.world}", "--standalone"]
        os.execv(sys.executable, [*torchrun, __file__, *sys.argv[1:]])
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    if args.by == "spawn":
        torch.multiprocessing.spawn(spawned, (args, port), nprocs=args.world)
        return 0
    ranks = []
    for rank in range(args.world):
        if rank in args.missing:
            continue
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": args.world, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        if args.fault == "wrong_port" and rank in args.rank:
            place["MASTER_PORT"] = port + 1
        env = {**os.environ, **{name: str(value) for name, value in place.items()}}
        ranks.append(subprocess.Popen([sys.executable, __file__, *sys.argv[1:]], env=env))
    return max(abs(rank.wait()) for rank in ranks)


def main() -> int:
    signal.alarm(LIFE_S)
    parser = argparse.ArgumentParser()
    parser.add_argument("fault", choices=[*sorted(FAULTS), "wrong_port"])
    parser.add_argument("--by", choices=["popen", "spawn", "torchrun"], default="popen")
    parser.add_argument("--announce", default="", help="what the ranks say before it goes wrong")
    parser.add_argument("--world", type=int, default=4)
    parser.add_argument("--rank", type=int, nargs="*", default=[2])
    parser.add_argument("--step", type=int, default=6)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--missing", type=int, nargs="*", default=[])
    parser.add_argument("--folder", default=".")
    args = parser.parse_args()
    if "RANK" in os.environ:
        rank_main(args)
        return 0
    return launch(args)


if __name__ == "__main__":
    sys.exit(main())
