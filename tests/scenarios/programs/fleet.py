"""A run of several real processes without torch: a launcher, ranks, collectives over sockets, and one thing that goes wrong.

    fleet.py FAULT [--world N] [--rank R] [--step S] [--at STAGE] [--seconds T] [--steps K] [--step-s D]

FAULT is a function of this file's `FAULTS`: those of `hang_*` never come back, those of `slow_*` work for T seconds and come back.
It happens in rank R at STAGE (dataset, init, model, train, save), in training at step S. Nothing of hangtop is imported.
Every process ends by itself after LIFE_S, so that nothing is left whatever happens to the suite.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import hashlib
import multiprocessing
import os
import queue
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

LIFE_S = 240
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
            FAULTS[args.fault](self)

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


FAULTS: dict[str, Callable[[Run], None]] = {}


def fault(function: Callable[[Run], None]) -> Callable[[Run], None]:
    FAULTS[function.__name__] = function
    return function


@fault
def healthy(run: Run) -> None:
    """Nothing happens."""


# ---- never come back -----------------------------------------------------------------------------------------------------------


@fault
def hang_lock(run: Run) -> None:
    def tokenizer_wait(lock: threading.Lock) -> None:
        lock.acquire()

    lock = threading.Lock()
    lock.acquire()
    tokenizer_wait(lock)


@fault
def hang_sleep(run: Run) -> None:
    time.sleep(3600)


@fault
def hang_spin(run: Run) -> None:
    number = 0
    while True:
        number += 1


@fault
def hang_mismatch(run: Run) -> None:
    run.group.broadcast(1.0)


@fault
def hang_barrier(run: Run) -> None:
    run.group.barrier()


@fault
def hang_uninterruptible(run: Run) -> None:
    """A parent waits in the kernel until the child of a vfork lets go, and nothing but a kill ends that (vfork(2))."""
    libc = ctypes.CDLL(None)
    if libc.vfork() == 0:
        libc.sleep(3600)
        os._exit(0)


@fault
def hang_exit(run: Run) -> None:
    os._exit(0)


@fault
def hang_killed(run: Run) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@fault
def hang_stopped(run: Run) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@fault
def hang_fifo(run: Run) -> None:
    fifo = run.folder / f"prompts{run.rank}"
    os.mkfifo(fifo)
    with fifo.open("rb") as file:
        file.read()


@fault
def hang_reward_server(run: Run) -> None:
    """A server that accepts and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    client.sendall(b"GET /reward HTTP/1.0\r\n\r\n")
    client.recv(1)


@fault
def hang_child(run: Run) -> None:
    subprocess.run(["sleep", "3600"], check=False)


@fault
def hang_queue(run: Run) -> None:
    """A producer thread that died; nobody puts anything any more."""
    batches: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=lambda: None, name="prefetch").start()
    batches.get()


@fault
def hang_flock(run: Run) -> None:
    """The lock file of a cache, held by another process."""
    path = run.folder / f"cache{run.rank}.lock"
    held = path.open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    with path.open("w") as mine:
        fcntl.flock(mine, fcntl.LOCK_EX)


@fault
def hang_join(run: Run) -> None:
    def upload_metrics() -> None:
        time.sleep(3600)

    worker = threading.Thread(target=upload_metrics, name="uploader", daemon=True)
    worker.start()
    worker.join()


@fault
def hang_two_locks(run: Run) -> None:
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
def hang_worker_died(run: Run) -> None:
    """A loader process that is gone, and a rank that waits for its batch."""
    batches: multiprocessing.Queue[bytes] = multiprocessing.get_context("fork").Queue()
    worker = multiprocessing.get_context("fork").Process(target=os._exit, args=(1,), name="loader")
    worker.start()
    batches.get()


@fault
def hang_no_master(run: Run) -> None:
    """The master's port is not open: tries again for ever, as a rendezvous client does."""

    def connect_to_master() -> None:
        while True:
            try:
                socket.create_connection(("127.0.0.1", 9), timeout=1)
            except OSError:
                time.sleep(1)

    connect_to_master()


# ---- slow but alive ------------------------------------------------------------------------------------------------------------


def _until(run: Run) -> Callable[[], bool]:
    ends = time.monotonic() + run.args.seconds
    return lambda: time.monotonic() < ends


@fault
def slow_evaluate(run: Run) -> None:
    def score(prompt: int) -> float:
        return sum(number * number % 7 for number in range(prompt % 1000)) / (prompt + 1)

    def evaluate() -> float:
        total, prompt, goes_on = 0.0, 0, _until(run)
        while goes_on():
            prompt += 1
            total += score(prompt)
        return total

    evaluate()


@fault
def slow_by_turns(run: Run) -> None:
    """Works for a second, rests for a second: a simulator that is stepped from outside."""
    goes_on = _until(run)

    def simulate() -> int:
        ends, steps = time.monotonic() + 1, 0
        while time.monotonic() < ends:
            steps += sum(range(1000)) % 7
        return steps

    while goes_on():
        simulate()
        time.sleep(1)


@fault
def slow_read(run: Run) -> None:
    path = run.folder / f"shard{run.rank}.bin"
    with path.open("wb") as file:
        for _ in range(16):
            file.write(os.urandom(1 << 22))
    goes_on = _until(run)

    def load_shards() -> None:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        while os.read(fd, 1 << 20):
            pass
        os.close(fd)

    while goes_on():
        load_shards()


@fault
def slow_save(run: Run) -> None:
    goes_on = _until(run)

    def save_checkpoint() -> None:
        block = os.urandom(1 << 22)
        with tempfile.NamedTemporaryFile(dir=run.folder) as file:
            while goes_on() and file.tell() < 1 << 27:
                file.write(block)
                file.flush()
                os.fsync(file.fileno())

    while goes_on():
        save_checkpoint()


@fault
def slow_compile(run: Run) -> None:
    """The work is in child processes, one after another; the rank itself only waits."""
    goes_on = _until(run)
    body = "import time\nt=time.time()\nwhile time.time()-t<2: sum(range(10**5))"
    while goes_on():
        subprocess.run([sys.executable, "-c", body], check=False)


@fault
def slow_announced(run: Run) -> None:
    run.say(f"waiting {run.args.seconds:.0f} seconds for the reward model to warm up")
    time.sleep(run.args.seconds)


@fault
def slow_compress(run: Run) -> None:
    goes_on = _until(run)
    block = os.urandom(1 << 15) * 512
    while goes_on():
        zlib.compress(block, 9)


@fault
def slow_hash(run: Run) -> None:
    goes_on = _until(run)
    block = bytes(1 << 24)
    while goes_on():
        hashlib.sha256(block).hexdigest()


@fault
def slow_download(run: Run) -> None:
    """A server that sends 4 MB a second, in pieces."""
    goes_on = _until(run)
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    server = listener.accept()[0]

    def serve() -> None:
        while goes_on():
            server.sendall(bytes(1 << 18))
            time.sleep(1 / 16)
        server.close()

    threading.Thread(target=serve, name="server", daemon=True).start()

    def download_weights() -> None:
        with (run.folder / f"weights{run.rank}.bin").open("wb") as file:
            while data := client.recv(1 << 16):
                file.write(data)

    download_weights()


def _tokenize_part(seconds: float) -> int:
    ends, count = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        count += len(str(count).split("7"))
    return count


@fault
def slow_tokenize_pool(run: Run) -> None:
    """The work is in a pool; the rank waits for its results."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(_tokenize_part, [run.args.seconds / 2] * 4, chunksize=1)


@fault
def slow_first_step(run: Run) -> None:
    slow_compress(run)


@fault
def slow_threads(run: Run) -> None:
    """The main thread waits for a thread that works."""
    worker = threading.Thread(target=slow_hash, args=(run,), name="packer")
    worker.start()
    worker.join()


@fault
def slow_walk(run: Run) -> None:
    """Many small files: little CPU in user space, much in the kernel."""
    goes_on = _until(run)
    while goes_on():
        for path in Path("/usr/lib").rglob("*"):
            if not goes_on():
                break
            path.lstat()


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
    parser.add_argument("fault", choices=sorted(FAULTS))
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
