"""A pipeline of tensor groups: every rank adds up with its group, and passes on to the same place of the next stage.

    stages.py FAULT [--shape PPxTP] [--bad R …] [--names WAY] [--gloo] [--seconds T] [--folder F]

Ranks talk over sockets, or over gloo with a group for each stage. Who belongs together is named in one WAY: as Megatron, by
DeepSpeed or torchtitan, by torch itself, or in the arguments of the ranks. Every process ends by itself after LIFE_S.
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
from pathlib import Path

LIFE_S = 240
FAULT_AT = 6
ARGUMENTS = "--tensor-model-parallel-size {tp} --pipeline-model-parallel-size {pp}"


def named(way: str, pp: int, tp: int) -> str:
    """What the log says of the groups."""
    match way:
        case "megatron":
            sizes = f"context-parallel size: 1, tensor-model-parallel size: {tp}, pipeline-model-parallel size: {pp}"
            return f"using world size: {pp * tp}, data-parallel size: 1, {sizes}"
        case "deepspeed":
            at = (f"ProcessCoord(pipe={rank // tp}, data=0, model={rank % tp}): {rank}" for rank in range(pp * tp))
            return f"Using topology: {{{', '.join(at)}}}"
        case "titan":
            return f"[titan] 2026-01-11 10:00:00,123 - root - INFO - Building 2-D device mesh with ['pp', 'tp'], [{pp}, {tp}]"
        case "mesh":
            return f"DeviceMesh((pp={pp}, tp={tp}), 'cpu', stride=({tp}, 1))"
    return "starting"


def wires(rank: int, world: int, folder: Path) -> dict[int, socket.socket]:
    """A socket to each other rank."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / f"{rank}.sock"))
    listener.listen(world)
    to: dict[int, socket.socket] = {}
    for other in range(rank):
        to[other] = socket.socket(socket.AF_UNIX)
        while to[other].connect_ex(str(folder / f"{other}.sock")):
            time.sleep(0.05)
        to[other].sendall(bytes([rank]))
    for _ in range(rank + 1, world):
        end, _ = listener.accept()
        to[end.recv(1)[0]] = end
    return to


class Stage:
    """One rank's place, over sockets."""

    def __init__(self, rank: int, pp: int, tp: int, folder: Path) -> None:
        self.rank, self.tp, self.above, self.below = rank, tp, rank - tp, rank + tp if rank + tp < pp * tp else -1
        self.group = [rank // tp * tp + place for place in range(tp)]
        self.meet(folder, pp * tp)

    def meet(self, folder: Path, world: int) -> None:
        self.to = wires(self.rank, world, folder)

    def add_shards(self) -> None:
        others = [other for other in self.group if other != self.rank]
        for other in others:
            self.hand_on(other)
        for other in others:
            self.take_from(other)

    def hand_on(self, other: int) -> None:
        self.to[other].sendall(b"x")

    def take_from(self, other: int) -> None:
        self.to[other].recv(1)

    def other_call(self) -> None:
        self.take_from(self.above)


class GlooStage(Stage):
    """The same over torch.distributed."""

    def meet(self, folder: Path, world: int) -> None:
        import torch
        import torch.distributed as dist

        (folder / "imported").touch()
        dist.init_process_group("gloo")
        self.dist, self.tensor = dist, torch.ones(4)
        groups = [dist.new_group(list(range(first, first + self.tp))) for first in range(0, world, self.tp)]
        self.mine = groups[self.rank // self.tp]

    def add_shards(self) -> None:
        self.dist.all_reduce(self.tensor, group=self.mine)

    def hand_on(self, other: int) -> None:
        self.dist.send(self.tensor, other)

    def take_from(self, other: int) -> None:
        self.dist.recv(self.tensor, other)

    def other_call(self) -> None:
        self.dist.broadcast(self.tensor, self.group[0], group=self.mine)


def step(stage: Stage, fault: str, seconds: float) -> None:
    """Activations down the stages, gradients up."""
    if stage.above >= 0:
        stage.take_from(stage.above)
    go_wrong(stage, fault, seconds)
    stage.add_shards()
    if stage.below >= 0:
        stage.hand_on(stage.below)
        stage.take_from(stage.below)
        stage.add_shards()
    if stage.above >= 0:
        stage.hand_on(stage.above)


def go_wrong(stage: Stage, fault: str, seconds: float) -> None:
    match fault:
        case "lock":
            lock = threading.Lock()
            lock.acquire()
            lock.acquire()
        case "server":
            ask_rewards()
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "parts":
            stage.other_call()
        case "works":
            attend(seconds)


def ask_rewards() -> None:
    """A server that takes the question and never answers."""
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(1)
    asking = socket.create_connection(silent.getsockname())
    asking.sendall(b"GET / HTTP/1.1\r\n\r\n")
    asking.recv(1)


def attend(seconds: float) -> None:
    """Computes, and moves from line to line."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        sum(place**0.5 for place in range(20_000))
        max(place * 0.5 for place in range(20_000))


def member(options: argparse.Namespace) -> None:
    signal.alarm(LIFE_S)
    pp, tp = map(int, os.environ["SHAPE"].split("x"))
    rank = int(os.environ["RANK"])
    stage = (GlooStage if options.gloo else Stage)(rank, pp, tp, Path(options.folder))
    if rank == 0:
        print(named(options.names, pp, tp), flush=True)
    for number in range(1, 401):
        step(stage, options.fault if rank in options.bad and number == FAULT_AT else "", options.seconds)
        print(f"[rank{rank}]: step {number}/400 loss {1 / number:.3f}", flush=True)
        time.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("fault", choices=["none", "lock", "server", "stop", "parts", "works"])
    parser.add_argument("--shape", default="2x4")
    parser.add_argument("--bad", type=int, nargs="*", default=[])
    parser.add_argument("--names", default="megatron")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--folder", default=".")
    parser.add_argument("--gloo", action="store_true")
    options, _ = parser.parse_known_args()
    if "RANK" in os.environ:
        member(options)
        return
    pp, tp = map(int, options.shape.split("x"))
    more = ARGUMENTS.format(pp=pp, tp=tp).split() if options.names == "arguments" else []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    env = {**os.environ, "SHAPE": options.shape, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(pp * tp)}
    argv = [sys.executable, *(word for word in sys.argv if word != "--shape" and word != options.shape), *more]
    ranks = [subprocess.Popen(argv, env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(pp * tp)]
    for process in ranks:
        process.wait()


if __name__ == "__main__":
    main()
