"""A home-made trainer whose functions have names of their own: ranks exchange through a hub process, and one thing goes wrong.

    herd.py FAULT [--world N] [--bad R …] [--step S] [--seconds T] [--folder F]

The first process forks the hub and starts the ranks with RANK and WORLD_SIZE. Nothing is named as torch names it: a rank waits for
its peers in `Peers.swap`, on a connection of multiprocessing. Rank 0 alone writes a line a step, as most trainers do.
Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import fcntl
import gzip
import http.client
import http.server
import json
import logging
import multiprocessing
import os
import queue
import random
import re
import selectors
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path

LIFE_S = 240
FORK = multiprocessing.get_context("fork")


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


class Job:
    """What a fault needs to know."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.folder, self.seconds = Path(args.folder), args.seconds
        self.rank = int(os.environ["RANK"])

    def until(self) -> Callable[[], bool]:
        ends = time.monotonic() + self.seconds
        return lambda: time.monotonic() < ends


FAULTS: dict[str, Callable[[Job], None]] = {}


def fault(function: Callable[[Job], None]) -> Callable[[Job], None]:
    FAULTS[function.__name__] = function
    return function


@fault
def healthy(job: Job) -> None:
    """Nothing happens."""


# ---- never come back -----------------------------------------------------------------------------------------------------------


@fault
def unfed_queue(job: Job) -> None:
    FORK.Queue().get()


@fault
def reads_pipe(job: Job) -> None:
    end, _ = os.pipe()
    os.read(end, 1)


@fault
def record_lock(job: Job) -> None:
    """A record lock that another process holds, and never gives back."""
    path, (ready, go) = job.folder / "index.lock", os.pipe()
    if os.fork() == 0:
        signal.alarm(LIFE_S)
        with path.open("w") as held:
            fcntl.lockf(held, fcntl.LOCK_EX)
            os.write(go, b"x")
            time.sleep(LIFE_S)
    os.read(ready, 1)
    with path.open("w") as mine:
        fcntl.lockf(mine, fcntl.LOCK_EX)


@fault
def locked_database(job: Job) -> None:
    """Somebody else is in a transaction; SQLite asks again and again."""
    path = job.folder / "samples.db"
    with sqlite3.connect(path) as first:
        first.execute("create table seen (n)")
    first.execute("begin exclusive")
    sqlite3.connect(path, timeout=3600).execute("insert into seen values (1)")


@fault
def full_pipe_child(job: Job) -> None:
    """The child writes more than a pipe holds, and nobody reads: the classic dead-lock of `wait` with PIPE."""
    child = subprocess.Popen([sys.executable, "-c", "print('x' * 10**6)"], stdout=subprocess.PIPE)
    child.wait()


@fault
def sleeps_for_ever(job: Job) -> None:
    time.sleep(1e8)


@fault
def stopped(job: Job) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@fault
def lost_future(job: Job) -> None:
    """A coroutine awaits what nobody will ever set."""

    async def collect() -> None:
        await asyncio.get_running_loop().create_future()

    asyncio.run(collect())


@fault
def blocked_loop(job: Job) -> None:
    """A coroutine calls what blocks, and the event loop stands."""

    async def collect() -> None:
        socket.create_server(("127.0.0.1", 0)).accept()

    asyncio.run(collect())


@fault
def silent_http(job: Job) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    server = http.client.HTTPConnection(*listener.getsockname())
    server.request("GET", "/v1/models")
    server.getresponse()


@fault
def black_hole(job: Job) -> None:
    """Connects to a port that never answers: its queue of connections is full."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    crowd = [socket.socket() for _ in range(4)]
    for one in crowd:
        one.setblocking(False)
        one.connect_ex(listener.getsockname())
    time.sleep(0.2)
    socket.create_connection(listener.getsockname())


@fault
def broken_pool(job: Job) -> None:
    """A worker of the pool is killed in its task: `map` waits for ever (the pool starts another, but not the task)."""
    with FORK.Pool(2) as pool:
        pool.map(_killed_or_done, range(4), chunksize=1)


def _killed_or_done(number: int) -> None:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)


@fault
def full_queue(job: Job) -> None:
    """The prefetcher is full and its consumer waits for it to end."""
    batches: queue.Queue[int] = queue.Queue(maxsize=2)

    def prefetch() -> None:
        for number in range(10):
            batches.put(number)

    worker = threading.Thread(target=prefetch)
    worker.start()
    worker.join()


@fault
def asks_user(job: Job) -> None:
    """Asks a question; its standard input is a terminal or pipe that nobody types into."""
    end, _ = os.pipe()
    os.dup2(end, 0)
    sys.stdin = os.fdopen(0)
    input()


@fault
def opens_fifo(job: Job) -> None:
    os.mkfifo(job.folder / "tokens")
    (job.folder / "tokens").read_bytes()


@fault
def saves_into_fifo(job: Job) -> None:
    """The checkpoint's path is a pipe to an uploader that stopped reading."""
    path = job.folder / "model.bin"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def save_model() -> None:
        path.write_bytes(bytes(1 << 22))

    save_model()
    os.close(reader)


@fault
def logs_into_full_pipe(job: Job) -> None:
    """A logging handler whose reader is gone to sleep."""
    _, end = os.pipe()
    logger = logging.getLogger("metrics")
    logger.propagate = False
    logger.addHandler(logging.StreamHandler(os.fdopen(end, "w")))
    logger.setLevel(logging.INFO)
    while True:
        logger.info("reward %s", "0.5 " * 500)


@fault
def spins(job: Job) -> None:
    while True:
        pass


@fault
def greedy_regex(job: Job) -> None:
    """A pattern that needs longer than the universe has."""
    re.match(r"(a+)+$", "a" * 64 + "b")


@fault
def big_power(job: Job) -> None:
    pow(3, (1 << 400_000) - 1, (1 << 400_000) + 1)


@fault
def long_sum(job: Job) -> None:
    sum(range(10**13))


@fault
def semaphore(job: Job) -> None:
    slots = FORK.Semaphore(1)
    slots.acquire()
    slots.acquire()


@fault
def condition(job: Job) -> None:
    done = threading.Condition()
    with done:
        done.wait()


@fault
def no_signal(job: Job) -> None:
    signal.pause()


@fault
def selects(job: Job) -> None:
    one, other = socket.socketpair()
    with selectors.DefaultSelector() as selector:
        selector.register(one, selectors.EVENT_READ)
        selector.select()
    other.close()


@fault
def forked_lock(job: Job) -> None:
    """Forks while a thread holds a lock: the child waits for it, the rank for the child."""
    guard, held = threading.Lock(), threading.Event()

    def tokenizer() -> None:
        with guard:
            held.set()
            time.sleep(2)

    threading.Thread(target=tokenizer).start()
    held.wait()
    child = FORK.Process(target=guard.acquire)
    child.start()
    child.join()


@fault
def native_wait(job: Job) -> None:
    """C code that waits, without Python knowing."""
    libc = ctypes.CDLL(None)
    libc.pause()


@fault
def dead_mount(job: Job) -> None:
    """Reads from a FUSE file system whose server says nothing. Needs root."""
    mount, libc = job.folder / "shards", ctypes.CDLL(None)
    mount.mkdir()
    device = os.open("/dev/fuse", os.O_RDWR)
    if libc.mount(b"store:/shards", str(mount).encode(), b"fuse", 0, f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()):
        raise OSError("no FUSE mount here")
    _clean_up_after(f"umount -l {mount}")
    (mount / "shard-0.bin").read_bytes()


def _clean_up_after(command: str) -> None:
    """Once the rank is gone: in a process that is nobody's child, for the run and all below it are killed."""
    wait = f"while [ -e /proc/{os.getpid()}/exe ]; do sleep 0.1; done; {command}"
    subprocess.run(["setsid", "sh", "-c", f"({wait}) >/dev/null 2>&1 &"], check=True)


@fault
def leaves(job: Job) -> None:
    """Its data ends earlier than that of its peers: it is done, and goes with code 0."""
    sys.exit(0)


@fault
def killed(job: Job) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@fault
def crashes_in_c(job: Job) -> None:
    ctypes.string_at(0)


# ---- slow but alive ------------------------------------------------------------------------------------------------------------


@fault
def builds(job: Job) -> None:
    """gcc, one file after the other."""
    goes_on = job.until()
    source = job.folder / "op.c"
    source.write_text("#include <stdio.h>\n" + "".join(f"double f{n}(double x){{return x*{n}.0+f{n - 1 if n else 0}(x);}}\n" for n in range(400)))
    while goes_on():
        subprocess.run(["gcc", "-w", "-O2", "-c", str(source), "-o", str(source.with_suffix(".o"))], check=False)


@fault
def packs_dataset(job: Job) -> None:
    """gzip in this process, of a file that grows."""
    goes_on, block = job.until(), random.randbytes(1 << 16) * 64
    with gzip.open(job.folder / "samples.gz", "wb", compresslevel=9) as packed:
        while goes_on():
            packed.write(block)


@fault
def trickling_download(job: Job) -> None:
    """50 kB a second over HTTP, into a file."""
    goes_on = job.until()

    class Mirror(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            while goes_on():
                self.wfile.write(bytes(5000))
                time.sleep(0.1)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    if os.fork() == 0:
        signal.alarm(LIFE_S)
        server.serve_forever()
    line = http.client.HTTPConnection("127.0.0.1", server.server_port)
    line.request("GET", "/model.safetensors")
    answer = line.getresponse()
    with (job.folder / "model.part").open("wb") as file:
        while data := answer.read(4096):
            file.write(data)


@fault
def slow_disk(job: Job) -> None:
    """A checkpoint that grows by 400 kB a second: the disk is slow, not the rank."""
    goes_on = job.until()
    with (job.folder / "model.ckpt").open("wb", buffering=0) as file:
        while goes_on():
            file.write(bytes(100_000))
            time.sleep(0.25)


@fault
def simulates(job: Job) -> None:
    """Steps a game: short waits for it, a bit of thinking, in several functions."""
    goes_on = job.until()

    def wait_for_frame() -> None:
        time.sleep(0.05)

    def choose() -> int:
        return max(range(20_000), key=lambda move: move * 7919 % 10007)

    while goes_on():
        wait_for_frame()
        choose()


@fault
def inserts(job: Job) -> None:
    """A database that is filled."""
    goes_on = job.until()
    with sqlite3.connect(job.folder / "index.db") as database:
        database.execute("create table doc (n, body)")
        while goes_on():
            database.executemany("insert into doc values (?, ?)", ((n, str(n) * 40) for n in range(20_000)))


@fault
def dumps_json(job: Job) -> None:
    goes_on = job.until()
    rows = [{"prompt": str(number), "score": number / 7} for number in range(200_000)]
    while goes_on():
        (job.folder / "rollouts.json").write_text(json.dumps(rows))


@fault
def scores_in_pool(job: Job) -> None:
    """The rank waits for futures; processes of its pool work."""
    with ProcessPoolExecutor(2, mp_context=FORK) as pool:
        list(pool.map(_count, [job.seconds] * 2))


def _count(seconds: float) -> int:
    ends, total = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        total += len(re.findall(r"\d7", str(random.getrandbits(4000))))
    return total


@fault
def hashes_in_threads(job: Job) -> None:
    """The rank waits for futures; threads of its own work."""
    goes_on = job.until()

    def checksum(part: int) -> int:
        total = part
        while goes_on():
            total ^= hash(random.randbytes(1 << 20))
        return total

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(checksum, range(2)))


@fault
def copies(job: Job) -> None:
    """cp, again and again."""
    goes_on = job.until()
    (job.folder / "shard").write_bytes(random.randbytes(1 << 26))
    while goes_on():
        subprocess.run(["cp", "shard", "shard.copy"], cwd=job.folder, check=True)


@fault
def said_so(job: Job) -> None:
    os.write(1, f"[{job.rank}] retrying in {job.seconds:.0f}s because the hub said 429\n".encode())
    time.sleep(job.seconds)


def train(args: argparse.Namespace) -> None:
    job = Job(args)
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
