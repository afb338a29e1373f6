"""Faults of one rank that never come back."""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import http.client
import logging
import multiprocessing
import os
import queue
import re
import selectors
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

from faults import FORK, LIFE_S, Job, fault


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
    for client in crowd:
        client.setblocking(False)
        client.connect_ex(listener.getsockname())
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
    reader, other = socket.socketpair()
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
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


@fault
def held_lock(job: Job) -> None:
    def tokenizer_wait(lock: threading.Lock) -> None:
        lock.acquire()

    lock = threading.Lock()
    lock.acquire()
    tokenizer_wait(lock)


@fault
def two_locks(job: Job) -> None:
    first, second, ready = threading.Lock(), threading.Lock(), threading.Event()

    def prefetch() -> None:
        with second:
            ready.set()
            with first:
                return

    with first:
        threading.Thread(target=prefetch, name="prefetch", daemon=True).start()
        ready.wait()
        second.acquire()


@fault
def held_file(job: Job) -> None:
    """The lock file of a cache, held by another process."""
    path = job.folder / f"cache{job.rank}.lock"
    held = path.open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    with path.open("w") as mine:
        fcntl.flock(mine, fcntl.LOCK_EX)


@fault
def lost_producer(job: Job) -> None:
    """A producer thread that died; nobody puts anything any more."""
    batches: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=lambda: None, name="prefetch").start()
    batches.get()


@fault
def dead_loader(job: Job) -> None:
    """A loader process that is gone, and a rank that waits for its batch."""
    batches: multiprocessing.Queue[bytes] = multiprocessing.get_context("fork").Queue()
    worker = multiprocessing.get_context("fork").Process(target=os._exit, args=(1,), name="loader")
    worker.start()
    batches.get()


@fault
def endless_thread(job: Job) -> None:
    def upload_metrics() -> None:
        time.sleep(3600)

    worker = threading.Thread(target=upload_metrics, name="uploader", daemon=True)
    worker.start()
    worker.join()


@fault
def endless_child(job: Job) -> None:
    subprocess.run(["sleep", "3600"], check=False)


@fault
def silent_server(job: Job) -> None:
    """A server that accepts and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    client.sendall(b"GET /reward HTTP/1.0\r\n\r\n")
    client.recv(1)


@fault
def no_master(job: Job) -> None:
    """The master's port is not open: tries again for ever, as a rendezvous client does."""

    def connect_to_master() -> None:
        while True:
            try:
                socket.create_connection(("127.0.0.1", 9), timeout=1)
            except OSError:
                time.sleep(1)

    connect_to_master()


@fault
def uninterruptible(job: Job) -> None:
    """A parent waits in the kernel until the child of a vfork lets go, and nothing but a kill ends that (vfork(2))."""
    libc = ctypes.CDLL(None)
    if libc.vfork() == 0:
        libc.sleep(3600)
        os._exit(0)
