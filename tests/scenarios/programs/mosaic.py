"""Ranks that meet over TCP with pickles, started and numbered in six ways; no environment tells a number.

    mosaic.py FAULT [--start argv|fork|spawn|stdin|parent|shell] [--meet star|server|groups] [--say rank|worker|zero] [--world N] [--bad R …] …

`star`: rank 0 is the hub. `server`: a process of its own is. `groups`: two halves with a hub each, and both meet now and then.
Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import argparse
import fcntl
import http.client
import http.server
import lzma
import math
import multiprocessing
import os
import pickle
import random
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LIFE_S = 240
MEET_ALL_EVERY = 3


def send(line: socket.socket, what: object) -> None:
    data = pickle.dumps(what)
    line.sendall(len(data).to_bytes(4, "big") + data)


def receive(line: socket.socket) -> object:
    size = int.from_bytes(exactly(line, 4), "big")
    return pickle.loads(exactly(line, size))


def exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = line.recv(size - len(data))
        if not part:
            raise ConnectionError("peer closed the connection")
        data += part
    return data


class Star:
    """One member of a hub and its spokes."""

    def __init__(self, port: int, me: int, members: Sequence[int], hub: int) -> None:
        self.is_hub, self.lines = me == hub, []
        if self.is_hub:
            listener = socket.create_server(("127.0.0.1", port), backlog=64)
            self.lines = [listener.accept()[0] for member in members if member != hub]
        else:
            self.lines = [connected(port)]

    def reduce(self, value: float) -> float:
        if not self.is_hub:
            send(self.lines[0], value)
            return float(receive(self.lines[0]))  # type: ignore[arg-type]
        total = value + sum(float(receive(line)) for line in self.lines)  # type: ignore[arg-type]
        for line in self.lines:
            send(line, total)
        return total

    def finish(self) -> None:
        """The end of training: told to the hub, which says good-bye to all."""
        if not self.is_hub:
            send(self.lines[0], "done")
            receive(self.lines[0])


def connected(port: int) -> socket.socket:
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.05)


def serve(port: int, world: int) -> None:
    """The parameter server."""
    signal.alarm(LIFE_S)
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    workers = [listener.accept()[0] for _ in range(world)]
    try:
        while True:
            total = sum(float(receive(worker)) for worker in workers)  # type: ignore[arg-type]
            for worker in workers:
                send(worker, total)
    except (OSError, ValueError):
        time.sleep(LIFE_S)


class Job:
    """What a fault needs to know."""

    def __init__(self, args: argparse.Namespace, rank: int) -> None:
        self.folder, self.rank, self.ends = Path(args.folder), rank, time.monotonic() + args.seconds

    def goes_on(self) -> bool:
        return time.monotonic() < self.ends


# ---- never come back -----------------------------------------------------------------------------------------------------------


def future(job: Job) -> None:
    """The main thread waits for a result of its pool, whose thread waits for a lock."""
    guard = threading.Lock()
    guard.acquire()
    with ThreadPoolExecutor(2) as pool:
        pool.submit(guard.acquire).result()


def event(job: Job) -> None:
    threading.Event().wait()


def fifo(job: Job) -> None:
    path = job.folder / f"samples.{job.rank}"
    os.mkfifo(path)
    with path.open() as samples:
        samples.readline()


def flock(job: Job) -> None:
    """Two handles of one file: the second lock is never granted."""
    path = job.folder / "cache.lock"
    first, second = path.open("w"), path.open("w")
    fcntl.flock(first, fcntl.LOCK_EX)
    fcntl.flock(second, fcntl.LOCK_EX)


def readline(job: Job) -> None:
    child = subprocess.Popen(["sleep", str(LIFE_S)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()


def dies(job: Job) -> None:
    os._exit(1)


def stops(job: Job) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def uneven(job: Job) -> None:
    """Its data ended: see `train`."""


# ---- slow but alive ------------------------------------------------------------------------------------------------------------


def compress(job: Job) -> None:
    text = random.Random(7).randbytes(1 << 19) * 6
    while job.goes_on():
        lzma.compress(text, preset=6)


def download(job: Job) -> None:
    """20 kB a second from a mirror."""

    class Mirror(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            while job.goes_on():
                self.wfile.write(bytes(5_000))
                time.sleep(0.25)

        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    line = http.client.HTTPConnection("127.0.0.1", server.server_port)
    line.request("GET", "/tokenizer.json")
    answer = line.getresponse()
    with (job.folder / "tokenizer.json").open("wb") as file:
        while data := answer.read(8_192):
            file.write(data)


def jit(job: Job) -> None:
    """A compiler works in a child."""
    source = "import time\nends = time.monotonic() + float({})\nwhile time.monotonic() < ends: sum(i * i for i in range(9999))"
    subprocess.run([sys.executable, "-c", source.format(job.ends - time.monotonic())], check=True)


def big_step(job: Job) -> None:
    value = 0.0
    while job.goes_on():
        for number in range(1, 200_000):
            value += math.sin(number) / number


def evaluate(job: Job) -> None:
    """A little work and a little waiting for each prompt."""

    def score(prompt: int) -> int:
        return sum(number * number for number in range(prompt % 7 * 20_000))

    prompt = 0
    while job.goes_on():
        prompt += 1
        score(prompt)
        time.sleep(0.02)


def healthy(job: Job) -> None:
    """Nothing happens."""


EVERY = (future, event, fifo, flock, readline, dies, stops, uneven, compress, download, jit, big_step, evaluate, healthy)
FAULTS: dict[str, Callable[[Job], None]] = {fault.__name__: fault for fault in EVERY}


def stars(args: argparse.Namespace, rank: int) -> Callable[[int], None]:
    """How this rank meets the others in a step."""
    everyone = range(args.world)
    if args.meet == "server":
        whole = Star(args.ports[0], rank, everyone, -1)
    elif args.meet == "star":
        whole = Star(args.ports[0], rank, everyone, 0)
    else:
        half = args.world // 2
        mine = range(half) if rank < half else range(half, args.world)
        tensor = Star(args.ports[1 + (rank >= half)], rank, mine, mine[0])
        both = Star(args.ports[0], rank, everyone, 0)

        def meet(step: int) -> None:
            tensor.reduce(1.0)
            if step % MEET_ALL_EVERY == 0:
                both.reduce(1.0)

        return meet
    ends = args.step if args.fault == "uneven" and rank in args.bad else args.steps + 1
    return lambda step: whole.finish() if step >= ends else (whole.reduce(1.0), None)[1]


def say(args: argparse.Namespace, rank: int, words: str) -> None:
    if args.say == "rank":
        os.write(1, f"Rank {rank}: {words}\n".encode())
    elif args.say == "worker":
        os.write(1, f"worker {rank}: {words}\n".encode())
    elif args.say == "append":
        with (Path(args.folder) / "ranks.log").open("a") as log:
            log.write(f"[rank {rank}] {words}\n")
    elif rank == 0:
        os.write(1, f"{words}\n".encode())


def train(args: argparse.Namespace, rank: int) -> None:
    signal.alarm(LIFE_S)
    meet, dice = stars(args, rank), random.Random(rank)
    for step in range(1, args.steps + 1):
        if rank in args.bad and step == args.step:
            FAULTS[args.fault](Job(args, rank))
        time.sleep(0.1 if args.fault != "healthy" else dice.choice((0.01, 0.05, 0.3, 1.5)))
        meet(step)
        say(args, rank, f"step {step}/{args.steps} loss={2 / step:.4f}")


def free_ports(count: int) -> list[int]:
    holds = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in holds]
    for listener in holds:
        listener.close()
    return ports


def launch(args: argparse.Namespace) -> None:
    """Starts the ranks and waits for the last of them first, as a careless launcher does."""
    if args.meet == "server":
        multiprocessing.get_context("fork").Process(target=serve, args=(args.ports[0], args.world), daemon=True).start()
    if args.start == "parent":
        me = next((rank for rank in range(1, args.world) if os.fork() == 0), 0)
        train(args, me)
        return
    if args.start == "shell":
        same = shlex.join([sys.executable, *sys.argv, "--ports", *map(str, args.ports)])
        loop = f"for r in $(seq 0 {args.world - 1}); do {same} --me $r 2>&1 | sed -u \"s/^/[$r] /\" & done; wait"
        os.execvp("bash", ["bash", "-c", loop])
    if args.start in ("fork", "spawn"):
        context = multiprocessing.get_context(args.start)
        ranks = [context.Process(target=train, args=(args, rank)) for rank in range(args.world)]
        for process in ranks:
            process.start()
        os.waitpid(ranks[0].pid or 0, 0)
        return
    same = [sys.executable, *sys.argv, "--ports", *map(str, args.ports)]
    children = []
    for rank in range(args.world):
        argv = [*same, "--me", str(rank)] if args.start == "argv" else [*same, "--ask"]
        children.append(subprocess.Popen(argv, stdin=subprocess.PIPE if args.start == "stdin" else None))
        if args.start == "stdin" and (line := children[-1].stdin):
            line.write(f"{rank}\n".encode())
            line.flush()
    children[0].wait()


def main() -> None:
    signal.alarm(LIFE_S)
    parser = argparse.ArgumentParser()
    parser.add_argument("fault", choices=sorted(FAULTS))
    parser.add_argument("--start", choices=("argv", "fork", "spawn", "stdin", "parent", "shell"), default="fork")
    parser.add_argument("--meet", choices=("star", "server", "groups"), default="star")
    parser.add_argument("--say", choices=("rank", "worker", "zero", "append"), default="zero")
    parser.add_argument("--world", type=int, default=4)
    parser.add_argument("--bad", type=int, nargs="*", default=[2])
    parser.add_argument("--step", type=int, default=6)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--folder", default=".")
    parser.add_argument("--ports", type=int, nargs="*", default=[])
    parser.add_argument("--me", type=int)
    parser.add_argument("--ask", action="store_true")
    args = parser.parse_args()
    if args.ask:
        train(args, int(sys.stdin.readline()))
    elif args.me is not None:
        train(args, args.me)
    else:
        args.ports = free_ports(3)
        launch(args)


if __name__ == "__main__":
    main()
