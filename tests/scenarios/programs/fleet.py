"""A run of several real processes without torch: a launcher, ranks, collectives over sockets, and one thing that goes wrong.

    fleet.py FAULT [--world N] [--rank R] [--step S] [--at STAGE] [--seconds T] [--steps K] [--step-s D]

FAULT is one of `faults.py`, or one that needs the group: `broadcasts`, `barrier`, `announces`. Work comes back after T seconds.
It happens in rank R at STAGE (dataset, init, model, train, save), in training at step S. Nothing of hangtop is imported.
Every process ends by itself after LIFE_S, so that nothing is left whatever happens to the suite.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import busy  # noqa: F401  its faults enter the table
import stuck  # noqa: F401
from faults import FAULTS, LIFE_S, Job

NUMBER = struct.Struct("!cd")


class Group:
    """One rank's side of the process group: every call waits until all ranks have made the same call."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(None)

    def _exchange(self, kind: bytes, value: float) -> float:
        self.socket.sendall(NUMBER.pack(kind, value))
        answer = self.socket.recv(NUMBER.size, socket.MSG_WAITALL)
        if len(answer) < NUMBER.size:
            raise ConnectionError("connection closed by peer")
        return NUMBER.unpack(answer)[1]

    def all_reduce(self, value: float) -> float:
        return self._exchange(b"r", value)

    def broadcast(self, value: float) -> float:
        return self._exchange(b"b", value)

    def barrier(self) -> None:
        self._exchange(b"w", 0.0)


def hub(listener: socket.socket, world: int) -> None:
    """The launcher's thread that adds up: answers once all ranks have sent a number of the same kind."""
    ranks = [listener.accept()[0] for _ in range(world)]
    sent: dict[int, tuple[bytes, float]] = {}
    lock = threading.Lock()

    def serve(number: int, rank: socket.socket) -> None:
        while message := rank.recv(NUMBER.size, socket.MSG_WAITALL):
            with lock:
                sent[number] = NUMBER.unpack(message)
                if len(sent) == world and len({kind for kind, _ in sent.values()}) == 1:
                    total = sum(value for _, value in sent.values())
                    for other in ranks:
                        other.sendall(NUMBER.pack(b"a", total))
                    sent.clear()

    for number, rank in enumerate(ranks):
        threading.Thread(target=serve, args=(number, rank), daemon=True).start()


class Run:
    """One rank and what it needs to go wrong."""

    def __init__(self, args: argparse.Namespace, rank: int, port: int) -> None:
        self.args, self.rank, self.port = args, rank, port
        self.group: Group | None = None
        self.folder = Path(args.folder)

    def say(self, words: str) -> None:
        stamp = f"{datetime.now():%Y-%m-%d %H:%M:%S,%f}"[:-3]
        os.write(1, f"[rank{self.rank}]: {stamp} INFO train: {words}\n".encode())  # whole lines, for all ranks write one file

    def maybe(self, stage: str, step: int = 0) -> None:
        args = self.args
        if args.at == stage and self.rank in args.rank and (stage != "train" or step == args.step):
            if args.fault in OF_GROUP:
                OF_GROUP[args.fault](self)
            else:
                FAULTS[args.fault](Job(self.rank, self.folder, args.seconds))

    def train(self) -> None:
        self.say("loading dataset from /data/toy")
        time.sleep(0.2)
        self.maybe("dataset")
        self.say("initializing process group backend=gloo")
        self.maybe("init")
        self.init_process_group()
        self.say("process group ready")
        self.say("loading model: 1.2M parameters")
        time.sleep(0.2)
        self.maybe("model")
        self.group.barrier()
        self.say(f"starting training loop for {self.args.steps} steps")
        for step in range(1, self.args.steps + 1):
            began = time.monotonic()
            self.train_step(step)
            took_ms = 1e3 * (time.monotonic() - began)
            self.say(f"step {step}/{self.args.steps} loss {2 / step + 0.3:.4f} lr 1.00e-04 ({took_ms:.0f} ms)")
            if step == self.args.step and self.args.at == "save":
                self.save()
        self.group.barrier()
        self.say("training finished")

    def init_process_group(self) -> None:
        self.group = Group(self.port)
        self.group.barrier()

    def train_step(self, step: int) -> None:
        self.maybe("train", step)
        time.sleep(self.args.step_s * random.uniform(0.9, 1.1))
        self.group.all_reduce(float(self.rank))

    def save(self) -> None:
        if self.rank in self.args.rank:
            self.say(f"saving checkpoint to {self.folder}/ckpt/step_{self.args.step}")
        self.maybe("save")
        self.group.barrier()
        if self.rank in self.args.rank:
            self.say(f"checkpoint saved to {self.folder}/ckpt/step_{self.args.step}")


def broadcasts(run: Run) -> None:
    """Where the others are in an all_reduce."""
    run.group.broadcast(1.0)


def barrier(run: Run) -> None:
    run.group.barrier()


def announces(run: Run) -> None:
    run.say(f"waiting {run.args.seconds:.0f} seconds for the reward model to warm up")
    time.sleep(run.args.seconds)


OF_GROUP: dict[str, Callable[[Run], None]] = {fault.__name__: fault for fault in (broadcasts, barrier, announces)}


def rank_main(args: argparse.Namespace) -> None:
    rank = int(os.environ["RANK"])
    random.seed(rank)
    Run(args, rank, int(os.environ["MASTER_PORT"])).train()


def launch(args: argparse.Namespace) -> int:
    print(f"W{datetime.now():%m%d %H:%M:%S.%f} {os.getpid()} torch/distributed/run.py:852] Starting worker group", flush=True)
    joining = args.world - len(args.missing)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=hub, args=(listener, args.world), daemon=True).start()
    ranks = []
    for rank in range(args.world):
        if rank in args.missing:
            continue
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": args.world, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": listener.getsockname()[1]}
        env = {**os.environ, **{name: str(value) for name, value in place.items()}}
        ranks.append(subprocess.Popen([sys.executable, __file__, *sys.argv[1:]], env=env))
    assert len(ranks) == joining
    codes = [rank.wait() for rank in ranks] if args.reap else _wait_without_reaping(ranks)
    return max(abs(code) for code in codes)


def _wait_without_reaping(ranks: list[subprocess.Popen[bytes]]) -> list[int]:
    """A launcher that never asks for exit codes: its dead ranks stay zombies."""
    time.sleep(LIFE_S)
    return [rank.wait() for rank in ranks]


def main() -> int:
    signal.alarm(LIFE_S)
    parser = argparse.ArgumentParser()
    parser.add_argument("fault", choices=sorted({*FAULTS, *OF_GROUP}))
    parser.add_argument("--world", type=int, default=4)
    parser.add_argument("--rank", type=int, nargs="*", default=[2])
    parser.add_argument("--step", type=int, default=6)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--step-s", type=float, default=0.15)
    parser.add_argument("--at", choices=["dataset", "init", "model", "train", "save"], default="train")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--missing", type=int, nargs="*", default=[], help="ranks that are never started")
    parser.add_argument("--no-reap", dest="reap", action="store_false")
    parser.add_argument("--folder", default=".")
    args = parser.parse_args()
    if "RANK" in os.environ:
        rank_main(args)
        return 0
    return launch(args)


if __name__ == "__main__":
    sys.exit(main())
