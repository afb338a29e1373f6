"""Ranks that meet in other ways than one call of all: a tree, a pipeline, a ring, files, asyncio, actors and a learner.

    lattice.py SHAPE FAULT [--world N] [--bad R …] [--step S] [--seconds T] [--folder F]

Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

LIFE_S = 240
FORK = multiprocessing.get_context("fork")


class Wires:
    """A pipe for each ordered pair of ranks."""

    def __init__(self, world: int) -> None:
        self.ends = {(rank, other): FORK.Pipe(duplex=False) for rank in range(world) for other in range(world) if rank != other}

    def put(self, me: int, other: int) -> None:
        self.ends[me, other][1].send(me)

    def take(self, me: int, other: int) -> None:
        self.ends[other, me][0].recv()

    def reader(self, me: int, other: int) -> Connection:
        return self.ends[other, me][0]


def tree(wires: Wires, rank: int, world: int, step: int, folder: Path) -> None:
    """Up to the root and down again."""
    below = [child_rank for child_rank in (2 * rank + 1, 2 * rank + 2) if child_rank < world]
    for child_rank in below:
        wires.take(rank, child_rank)
    if rank:
        wires.put(rank, (rank - 1) // 2)
        wires.take(rank, (rank - 1) // 2)
    for child_rank in below:
        wires.put(rank, child_rank)


def pipeline(wires: Wires, rank: int, world: int, step: int, folder: Path) -> None:
    """Activations forward, gradients back."""
    if rank:
        wires.take(rank, rank - 1)
    if rank < world - 1:
        wires.put(rank, rank + 1)
        wires.take(rank, rank + 1)
    if rank:
        wires.put(rank, rank - 1)


def ring(wires: Wires, rank: int, world: int, step: int, folder: Path) -> None:
    """A piece to the right, a piece from the left, as often as there are ranks."""
    for _ in range(world - 1):
        wires.put(rank, (rank + 1) % world)
        wires.take(rank, (rank - 1) % world)


def files(wires: Wires, rank: int, world: int, step: int, folder: Path) -> None:
    """Each leaves a file and looks for those of the others."""
    (folder / f"step{step}.{rank}").touch()
    while not all((folder / f"step{step}.{other}").exists() for other in range(world)):
        time.sleep(0.1)


def loop(wires: Wires, rank: int, world: int, step: int, folder: Path) -> None:
    """All to all in an event loop."""

    async def gather() -> None:
        for other in range(world):
            if other != rank:
                wires.put(rank, other)
        for other in range(world):
            if other != rank:
                arrived = asyncio.Event()
                end = wires.reader(rank, other)
                asyncio.get_running_loop().add_reader(end.fileno(), arrived.set)
                await arrived.wait()
                asyncio.get_running_loop().remove_reader(end.fileno())
                end.recv()

    asyncio.run(gather())


def helper(wires: Wires, rank: int, world: int, step: int, folder: Path) -> None:
    """A thread talks, the main thread waits for it."""
    done = threading.Event()

    def talk() -> None:
        for other in range(world):
            if other != rank:
                wires.put(rank, other)
        for other in range(world):
            if other != rank:
                wires.take(rank, other)
        done.set()

    threading.Thread(target=talk, daemon=True).start()
    done.wait()


SHAPES = {shape.__name__: shape for shape in (tree, pipeline, ring, files, loop, helper)}


def until(seconds: float) -> Callable[[], bool]:
    ends = time.monotonic() + seconds
    return lambda: time.monotonic() < ends


def deadlock(seconds: float, folder: Path) -> None:
    guard = threading.Lock()
    guard.acquire()
    guard.acquire()


def asleep(seconds: float, folder: Path) -> None:
    time.sleep(1e6)


def child(seconds: float, folder: Path) -> None:
    subprocess.run(["sleep", "1e6"], check=False)


def unread(seconds: float, folder: Path) -> None:
    os.read(os.pipe()[0], 1)


def endless(seconds: float, folder: Path) -> None:
    number = 3
    while number != 0:
        number = number * number % 1000003 + 1


def archive(seconds: float, folder: Path) -> None:
    """Alive: tar and gzip."""
    goes_on = until(seconds)
    while goes_on():
        subprocess.run(f"tar czf {folder}/code.tar.gz /usr/lib/python3* 2>/dev/null", shell=True, check=False)


def shell(seconds: float, folder: Path) -> None:
    """Alive: a script of the shell that computes."""
    subprocess.run(["timeout", str(seconds), "bash", "-c", "n=0; while :; do n=$((n+1)); done"], check=False)


def sieve(seconds: float, folder: Path) -> None:
    """Alive: several functions of plain Python."""
    goes_on = until(seconds)

    def primes(limit: int) -> list[int]:
        found: list[int] = []
        for number in range(2, limit):
            if all(number % prime for prime in found if prime * prime <= number):
                found.append(number)
        return found

    def filter_prompts() -> int:
        return sum(primes(2000))

    while goes_on():
        filter_prompts()


FAULTS = {fault.__name__: fault for fault in (deadlock, asleep, child, unread, endless, archive, shell, sieve)}


def work(args: argparse.Namespace, rank: int, wires: Wires) -> None:
    signal.alarm(LIFE_S)
    folder = Path(args.folder)
    for step in range(1, args.steps + 1):
        if rank in args.bad and step == args.step:
            FAULTS[args.fault](args.seconds, folder)
        time.sleep(0.15)
        SHAPES[args.shape](wires, rank, args.world, step, folder)
        os.write(1, f"(worker {rank}) [rank {rank}] iter {step}/{args.steps} | loss {1 / step:.3f}\n".encode())


def main() -> None:
    signal.alarm(LIFE_S)
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", choices=sorted(SHAPES))
    parser.add_argument("fault", choices=sorted(FAULTS))
    parser.add_argument("--world", type=int, default=6)
    parser.add_argument("--bad", type=int, nargs="*", default=[2])
    parser.add_argument("--step", type=int, default=6)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--folder", default=".")
    args = parser.parse_args()
    wires = Wires(args.world)
    ranks = [FORK.Process(target=work, args=(args, rank, wires)) for rank in range(args.world)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()


if __name__ == "__main__":
    sys.exit(main())
