"""A run whose ranks are multiprocessing's, as many home-made trainers have them, and one thing that goes wrong.

    crew.py FAULT [--start fork|spawn] [--say rank|plain|files] [--world N] [--rank R …] [--step S] [--seconds T] [--folder F]

The launcher is no program that is known; ranks learn their number from an argument and set RANK themselves, so that
/proc/PID/environ does not tell it. `--say`: lines name their rank, or only rank 0 writes and names nobody, or a file a rank.
Collectives are barriers of multiprocessing. Nothing of hangtop is imported. Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import queue
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime
from multiprocessing.context import BaseContext
from pathlib import Path

LIFE_S = 240


class Crew:
    """What the ranks share: one barrier, and a pipe for each pair of neighbours."""

    def __init__(self, context: BaseContext, world: int) -> None:
        self.barrier_of_all = context.Barrier(world)
        self.flag = context.Value("i", 0)
        self.pipes = [context.Pipe() for _ in range(world)]


class Trainer:
    """One rank."""

    def __init__(self, args: argparse.Namespace, rank: int, crew: Crew) -> None:
        self.args, self.rank, self.crew = args, rank, crew
        self.folder = Path(args.folder)
        if args.say == "files":
            (self.folder / "logs").mkdir(exist_ok=True)
            self.file = (self.folder / "logs" / f"rank_{self.rank}.log").open("a", buffering=1)

    def say(self, words: str) -> None:
        stamp = f"{datetime.now():%Y-%m-%d %H:%M:%S}"
        if self.args.say == "files":
            self.file.write(f"{stamp} {words}\n")
        elif self.args.say == "rank":
            os.write(1, f"{stamp} [rank {self.rank}] {words}\n".encode())
        elif self.rank == 0:
            os.write(1, f"{stamp} {words}\n".encode())

    def all_reduce(self, value: float) -> float:
        self.crew.barrier_of_all.wait()
        return value

    def barrier(self) -> None:
        self.crew.barrier_of_all.wait()

    def train(self) -> None:
        self.say("loading model")
        time.sleep(0.2)
        if self.args.step == 0:
            self.maybe(0)
        self.barrier()
        self.say("starting training")
        for step in range(1, self.args.steps + 1):
            if self.args.fault == "one_less" and step == self.args.step and self.rank in self.args.rank:
                break
            if self.args.fault not in ("one_less", "healthy") and step == self.args.step:
                self.say(self.args.announce or f"starting iteration {step}")
            self.maybe(step)
            time.sleep(self.args.step_s * random.uniform(0.5, 1.5))
            self.all_reduce(1.0)
            self.say(f"step {step}/{self.args.steps} loss={2 / step + 0.3:.4f}")
        self.barrier()
        self.say("training finished")

    def maybe(self, step: int) -> None:
        if self.rank in self.args.rank and step == self.args.step:
            FAULTS[self.args.fault](self)


FAULTS: dict[str, Callable[[Trainer], None]] = {}


def fault(function: Callable[[Trainer], None]) -> Callable[[Trainer], None]:
    FAULTS[function.__name__] = function
    return function


@fault
def healthy(trainer: Trainer) -> None:
    """Nothing happens."""


@fault
def one_less(trainer: Trainer) -> None:
    """Its data ended one step early: it is in the barrier at the end, the others in an all_reduce."""


# ---- never come back -----------------------------------------------------------------------------------------------------------


@fault
def asleep(trainer: Trainer) -> None:
    time.sleep(3600)


@fault
def lock(trainer: Trainer) -> None:
    guard = threading.Lock()
    with guard:
        guard.acquire()


@fault
def both_receive(trainer: Trainer) -> None:
    """Two neighbours wait for each other's activations; neither sends."""

    def recv_activations() -> bytes:
        return trainer.crew.pipes[trainer.rank][0].recv_bytes()

    recv_activations()


@fault
def polls_queue(trainer: Trainer) -> None:
    """Asks an empty queue again and again, with a limit each time, as careful code does."""
    batches: queue.Queue[int] = queue.Queue()
    while True:
        try:
            batches.get(timeout=0.7)
        except queue.Empty:
            continue


@fault
def opens_fifo(trainer: Trainer) -> None:
    path = trainer.folder / "reward.pipe"
    os.mkfifo(path)
    path.open("rb")


@fault
def polls_file(trainer: Trainer) -> None:
    """Waits for a file that another rank should write, looking twice a second."""
    ready = trainer.folder / "weights.ready"
    while not ready.exists():
        time.sleep(0.5)


@fault
def busy_wait(trainer: Trainer) -> None:
    """Waits for a flag that nobody sets, without a pause."""
    while trainer.crew.flag.value == 0:
        pass


@fault
def raises(trainer: Trainer) -> None:
    raise ValueError("could not convert string to float: 'n/a'")


@fault
def silent_server(trainer: Trainer) -> None:
    """The inference server took the request and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())

    def generate_sequences() -> bytes:
        client.sendall(b"POST /generate HTTP/1.1\r\n\r\n")
        return client.recv(4096)

    generate_sequences()


# ---- slow but alive ------------------------------------------------------------------------------------------------------------


def _until(trainer: Trainer) -> Callable[[], bool]:
    ends = time.monotonic() + trainer.args.seconds
    return lambda: time.monotonic() < ends


@fault
def sorts(trainer: Trainer) -> None:
    """One line of C code that keeps the GIL for seconds at a time."""
    goes_on = _until(trainer)
    lengths = [random.random() for _ in range(400_000)]
    while goes_on():
        sorted(lengths * 10)


@fault
def counts(trainer: Trainer) -> None:
    """Plain Python that computes for long in one function, without a name that tells."""
    total, ends = 0, time.monotonic() + trainer.args.seconds
    while time.monotonic() < ends:
        for number in range(10_000_000):
            total += number * number


@fault
def trickle(trainer: Trainer) -> None:
    """A mirror that sends 64 kB a second."""
    goes_on = _until(trainer)
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    server = listener.accept()[0]

    def serve() -> None:
        while goes_on():
            server.sendall(bytes(1 << 14))
            time.sleep(0.25)
        server.close()

    threading.Thread(target=serve, daemon=True).start()
    with (trainer.folder / "tokenizer.bin").open("wb", buffering=0) as file:
        while data := client.recv(1 << 15):
            file.write(data)


@fault
def packs(trainer: Trainer) -> None:
    """Packs its results with gzip, which is a program of its own."""
    path = trainer.folder / "samples.txt"
    path.write_bytes(os.urandom(1 << 20) * 40)
    goes_on = _until(trainer)
    while goes_on():
        subprocess.run(["gzip", "-9", "-k", "-f", str(path)], check=True)


@fault
def imports(trainer: Trainer) -> None:
    """Many modules, each anew."""
    goes_on = _until(trainer)
    names = ["xml.dom.minidom", "email.mime.text", "unittest.mock", "http.server", "asyncio", "tarfile", "pydoc", "doctest", "difflib"]
    while goes_on():
        for name in names:
            for loaded in [known for known in sys.modules if known.partition(".")[0] == name.partition(".")[0]]:
                del sys.modules[loaded]
            __import__(name)


def rank_main(args: argparse.Namespace, rank: int, crew: Crew) -> None:
    signal.alarm(LIFE_S)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(args.world))
    random.seed(rank)
    Trainer(args, rank, crew).train()


def main() -> int:
    signal.alarm(LIFE_S)
    parser = argparse.ArgumentParser()
    parser.add_argument("fault", choices=sorted(FAULTS))
    parser.add_argument("--start", choices=["fork", "spawn"], default="fork")
    parser.add_argument("--say", choices=["rank", "plain", "files"], default="rank")
    parser.add_argument("--world", type=int, default=4)
    parser.add_argument("--rank", type=int, nargs="*", default=[2])
    parser.add_argument("--step", type=int, default=6, help="0: while the model loads")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--step-s", type=float, default=0.15)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--announce", default="", help="what the ranks say before it goes wrong")
    parser.add_argument("--folder", default=".")
    args = parser.parse_args()
    context = multiprocessing.get_context(args.start)
    crew = Crew(context, args.world)
    ranks = [context.Process(target=rank_main, args=(args, rank, crew)) for rank in range(args.world)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    return max(abs(rank.exitcode or 0) for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())
