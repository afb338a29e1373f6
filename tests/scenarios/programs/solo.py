"""Ranks that a shell loop starts, each for itself; rank 0 is the meeting point and adds up. One thing goes wrong.

    solo.py FAULT [--number environ|argument] [--world N] [--bad R …] [--step S] [--seconds T] [--folder F]

Called without `--rank` it becomes the shell that starts the ranks: their number is in RANK, or only in their command line.
Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import socket
import sys
import threading
import time
import urllib.request
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LIFE_S = 240


class Ring:
    """Rank 0 gathers a byte of each rank and answers all."""

    def __init__(self, rank: int, world: int, folder: Path) -> None:
        place = folder / "port"
        if rank == 0:
            server = socket.create_server(("127.0.0.1", 0))
            (folder / "port.new").write_text(str(server.getsockname()[1]))
            os.replace(folder / "port.new", place)
            self.others = [server.accept()[0] for _ in range(world - 1)]
            return
        while not place.exists():
            time.sleep(0.05)
        self.others = [socket.create_connection(("127.0.0.1", int(place.read_text())))]
        self.others[0].settimeout(None)

    def exchange(self, rank: int) -> None:
        if rank == 0:
            for other in self.others:
                other.recv(1)
            for other in self.others:
                other.sendall(b"x")
        else:
            self.others[0].sendall(b"x")
            self.others[0].recv(1)


class Slow(BaseHTTPRequestHandler):
    """Thinks about each request for a while."""

    pause_s = 0.8

    def do_GET(self) -> None:
        time.sleep(self.pause_s)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"a long answer")

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class Silent(Slow):
    """Never answers."""

    pause_s = float(LIFE_S)


def serve(handler: type[Slow]) -> str:
    """A server in a process of its own, as engines are."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if os.fork() == 0:
        signal.alarm(LIFE_S)
        server.serve_forever()
    server.socket.close()
    return f"http://127.0.0.1:{server.server_port}/"


def slow_answers(args: argparse.Namespace) -> None:
    """Alive: a request after the other, each answered after a while."""
    address, ends = serve(Slow), time.monotonic() + args.seconds

    def ask_rewards() -> None:
        while time.monotonic() < ends:
            with urllib.request.urlopen(address) as answer:
                answer.read()

    ask_rewards()


def no_answer(args: argparse.Namespace) -> None:
    def ask_rewards() -> None:
        with urllib.request.urlopen(serve(Silent)) as answer:
            answer.read()

    ask_rewards()


def lock(args: argparse.Namespace) -> None:
    guard = threading.Lock()
    guard.acquire()
    guard.acquire()


def asleep(args: argparse.Namespace) -> None:
    time.sleep(3600)


def killed(args: argparse.Namespace) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def endless(args: argparse.Namespace) -> None:
    number = 1
    while True:
        number = number * 16807 % 2147483647


def announced(args: argparse.Namespace) -> None:
    print(f"[Rank {args.rank}] sleeping for {args.seconds:.0f} seconds before the next attempt", flush=True)
    time.sleep(args.seconds)


def augments(args: argparse.Namespace) -> None:
    """Alive: several functions, plain Python."""
    ends = time.monotonic() + args.seconds

    def flip(row: list[int]) -> list[int]:
        return row[::-1]

    def scale(row: list[int]) -> list[int]:
        return [number * 3 % 251 for number in row]

    row = list(range(5000))
    while time.monotonic() < ends:
        row = scale(flip(row))


FAULTS = {fault.__name__: fault for fault in (slow_answers, no_answer, lock, asleep, killed, endless, announced, augments)}


def train(args: argparse.Namespace) -> None:
    ring = Ring(args.rank, args.world, Path(args.folder))
    for step in range(1, 31):
        if args.rank in args.bad and step == args.step:
            FAULTS[args.fault](args)
        time.sleep(0.15)
        all_reduce(ring, args.rank)
        os.write(1, f"{datetime.now():%H:%M:%S} [Rank {args.rank}] Epoch 1 step {step}/30 - loss: {2 / step:.4f}\n".encode())


def all_reduce(ring: Ring, rank: int) -> None:
    ring.exchange(rank)


def main() -> None:
    signal.alarm(LIFE_S)
    parser = argparse.ArgumentParser()
    parser.add_argument("fault", choices=sorted(FAULTS))
    parser.add_argument("--number", choices=["environ", "argument"], default="environ")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--world", type=int, default=4)
    parser.add_argument("--bad", type=int, nargs="*", default=[2])
    parser.add_argument("--step", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--folder", default=".")
    args = parser.parse_args()
    if args.rank is None and "RANK" in os.environ:
        args.rank = int(os.environ["RANK"])
    if args.rank is not None:
        train(args)
        return
    program = shlex.join([sys.executable, *sys.argv])
    command = f"RANK=$r WORLD_SIZE={args.world} {program}" if args.number == "environ" else f"{program} --rank $r"
    os.execvp("bash", ["bash", "-c", f"for r in $(seq 0 {args.world - 1}); do {command} & done; wait"])


if __name__ == "__main__":
    main()
