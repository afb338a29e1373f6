"""Work of one rank that takes long and ends: slow, and alive."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import http.server
import json
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

from faults import FORK, LIFE_S, Job, fault


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


@fault
def evaluates(job: Job) -> None:
    def score(prompt: int) -> float:
        return sum(number * number % 7 for number in range(prompt % 1000)) / (prompt + 1)

    def evaluate() -> float:
        total, prompt, goes_on = 0.0, 0, job.until()
        while goes_on():
            prompt += 1
            total += score(prompt)
        return total

    evaluate()


@fault
def by_turns(job: Job) -> None:
    """Works for a second, rests for a second: a simulator that is stepped from outside."""
    goes_on = job.until()

    def simulate() -> int:
        ends, steps = time.monotonic() + 1, 0
        while time.monotonic() < ends:
            steps += sum(range(1000)) % 7
        return steps

    while goes_on():
        simulate()
        time.sleep(1)


@fault
def reads(job: Job) -> None:
    path = job.folder / f"shard{job.rank}.bin"
    with path.open("wb") as file:
        for _ in range(16):
            file.write(os.urandom(1 << 22))
    goes_on = job.until()

    def load_shards() -> None:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        while os.read(fd, 1 << 20):
            pass
        os.close(fd)

    while goes_on():
        load_shards()


@fault
def saves(job: Job) -> None:
    goes_on = job.until()

    def save_checkpoint() -> None:
        block = os.urandom(1 << 22)
        with tempfile.NamedTemporaryFile(dir=job.folder) as file:
            while goes_on() and file.tell() < 1 << 27:
                file.write(block)
                file.flush()
                os.fsync(file.fileno())

    while goes_on():
        save_checkpoint()


@fault
def computes_in_children(job: Job) -> None:
    """The work is in child processes, one after another; the rank itself only waits."""
    goes_on = job.until()
    body = "import time\nt=time.time()\nwhile time.time()-t<2: sum(range(10**5))"
    while goes_on():
        subprocess.run([sys.executable, "-c", body], check=False)


@fault
def compresses(job: Job) -> None:
    goes_on = job.until()
    block = os.urandom(1 << 15) * 512
    while goes_on():
        zlib.compress(block, 9)


@fault
def hashes(job: Job) -> None:
    goes_on = job.until()
    block = bytes(1 << 24)
    while goes_on():
        hashlib.sha256(block).hexdigest()


@fault
def thread_hashes(job: Job) -> None:
    """The main thread waits for a thread that works."""
    worker = threading.Thread(target=hashes, args=(job,), name="packer")
    worker.start()
    worker.join()


@fault
def downloads(job: Job) -> None:
    """A server that sends 4 MB a second, in pieces."""
    goes_on = job.until()
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
        with (job.folder / f"weights{job.rank}.bin").open("wb") as file:
            while data := client.recv(1 << 16):
                file.write(data)

    download_weights()


@fault
def walks(job: Job) -> None:
    """Many small files: little CPU in user space, much in the kernel."""
    goes_on = job.until()
    while goes_on():
        for path in Path("/usr/lib").rglob("*"):
            if not goes_on():
                break
            path.lstat()
