"""Trainings of one process, each as somebody writes one: it trains a little, and then one ordinary thing goes wrong (or does not).

    lone.py CASE --folder F

Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import http.client
import multiprocessing
import os
import pty
import queue
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import termios
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LIFE_S = 200


def say(text: str) -> None:
    print(text, flush=True)


def warm(steps: int = 4, of: int = 40) -> None:
    """What every training says first."""
    say("Loading config from configs/base.yaml")
    say(f"model parameters: 124,439,808; training for {of} steps")
    for step in range(1, steps + 1):
        time.sleep(0.25)
        say(f"step {step}/{of} | loss {3.2 / step + random.random() / 20:.4f} | lr 3.00e-04 | 0.25 s/it")


def apart(code: str, *argv: str, seconds: int = LIFE_S) -> None:
    """Another program of the machine, no part of this run."""
    line = f'setsid timeout {seconds} {sys.executable} -c "$0" "$@" </dev/null >/dev/null 2>&1 &'
    subprocess.run(["bash", "-c", line, code, *argv], check=True)


def come(path: Path) -> None:
    while not path.exists():
        time.sleep(0.05)


def cook(seconds: float) -> float:
    ends, total = time.monotonic() + seconds, 0.0
    while time.monotonic() < ends:
        total += sum(i * i % 7 for i in range(20_000))
    return total


# what waits for a person


def asks(folder: Path) -> None:
    """Asks whether to overwrite, at a terminal where nobody sits."""
    reader, _writer = os.pipe()
    os.dup2(reader, 0)
    warm(0)
    answer = input("Output directory out/ exists and is not empty. Overwrite? [y/N] ")
    say(answer)


def breakpoint_left(folder: Path) -> None:
    """Somebody left a breakpoint in the loss."""
    reader, _writer = os.pipe()
    os.dup2(reader, 0)
    warm()
    loss = float("nan")
    if loss != loss:
        breakpoint()
    say("went on")


def background_reads(folder: Path) -> None:
    """`python train.py &` reads from the terminal of its shell: the kernel stops it."""
    pid, master = pty.fork()
    if pid:
        while True:
            try:
                data = os.read(master, 4096)
            except OSError:
                break
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
        return
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTIN, signal.SIG_DFL)
        warm()
        sys.stdin = open("/dev/tty")
        input("wandb: (1) Create a W&B account (2) Use an existing account: ")
        os._exit(0)
    tty = os.open("/dev/tty", os.O_RDWR)
    termios.tcgetattr(tty)
    os.waitpid(child, 0)


# what waits for another program


def child_floods_stderr(folder: Path) -> None:
    """The evaluation writes more to its error output than a pipe holds, and nobody reads."""
    warm()
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys, os\nfor i in range(9000): print('warning: sample', i, 'truncated', file=sys.stderr)"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    child.wait()
    say("evaluation done")


def log_reader_stuck(folder: Path) -> None:
    """`python train.py | prettify`: the prettifier stops, the training blocks in print."""
    pretty = (
        "import sys, threading\n"
        "for n, line in enumerate(sys.stdin):\n"
        "    print('[pretty]', line.rstrip(), flush=True)\n"
        "    if n == 6: threading.Event().wait()\n"
    )
    trainer = (
        "import time\n"
        "for step in range(100000):\n"
        "    print(f'step {step}/100000 loss {3/(step+1):.5f} grad_norm 0.{step%97:02d} tokens', 'x' * 200, flush=True)\n"
        "    time.sleep(0.01)\n"
    )
    (folder / "pretty.py").write_text(pretty)
    (folder / "train.py").write_text(trainer)
    subprocess.run(f"timeout {LIFE_S} {sys.executable} train.py | timeout {LIFE_S} {sys.executable} pretty.py", shell=True, cwd=folder)


def eval_child(folder: Path) -> None:
    """Waits for an evaluation server that was asked to stop, and does not."""
    warm()
    server = subprocess.Popen([sys.executable, "-c", "import signal; signal.signal(15, signal.SIG_IGN)\nwhile 1: signal.pause()"])
    time.sleep(0.5)
    server.terminate()
    server.wait()


def database(folder: Path) -> None:
    """The study's SQLite file is locked by another program."""
    path = folder / "study.db"
    with sqlite3.connect(path) as made:
        made.execute("create table trials (number integer, value real)")
    made.close()
    apart(
        "import sqlite3, sys, time, pathlib\nd = sqlite3.connect(sys.argv[1], isolation_level=None)\nd.execute('begin exclusive')\n"
        "pathlib.Path(sys.argv[1] + '.taken').touch()\ntime.sleep(1000)",
        str(path),
    )
    come(Path(f"{path}.taken"))
    warm()
    study = sqlite3.connect(path, timeout=3600)
    study.execute("insert into trials values (1, 0.5)")


def cache_lock(folder: Path) -> None:
    """The dataset cache is locked by another job."""
    path = folder / "datasets_cache.lock"
    apart(
        "import fcntl, sys, time, pathlib\nf = open(sys.argv[1], 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\n"
        "pathlib.Path(sys.argv[1] + '.taken').touch()\ntime.sleep(1000)",
        str(path),
    )
    come(Path(f"{path}.taken"))
    say("Generating train split: 0 examples [00:00, ? examples/s]")
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def stale_baton(folder: Path) -> None:
    """A build was killed long ago and left its lock file behind."""
    lock = folder / "torch_extensions" / "fused_adam" / "lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    say(f"Using {lock.parent.parent} as PyTorch extensions root...")
    while lock.exists():
        time.sleep(0.1)
    say("Loading extension module fused_adam...")


# what waits for a network


def silent_server(folder: Path) -> http.client.HTTPConnection:
    apart(
        "import socket, sys, pathlib, time\ns = socket.create_server(('127.0.0.1', 0))\nP = pathlib.Path(sys.argv[1])\n"
        "(P.parent / 'port.new').write_text(str(s.getsockname()[1])); (P.parent / 'port.new').rename(P)\n"
        "kept = []\nwhile 1: kept.append(s.accept())",
        str(folder / "port"),
    )
    come(folder / "port")
    return http.client.HTTPConnection("127.0.0.1", int((folder / "port").read_text()))


def download(folder: Path) -> None:
    """The server takes the request and never answers."""
    say("Downloading shards:   0%|          | 0/4 [00:00<?, ?it/s]")
    connection = silent_server(folder)
    connection.request("GET", "/model-00001-of-00004.safetensors")
    connection.getresponse()


def backlog(folder: Path) -> None:
    """The experiment tracker does not accept connections any more: connect() has no answer."""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(0)
    fillers = []
    for _ in range(3):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(server.getsockname())
        fillers.append(filler)
    warm()
    tracker = socket.socket()
    tracker.connect(server.getsockname())
    say("tracked")


def reward_loop(folder: Path) -> None:
    """An asyncio loop gathers rewards; one of them waits for an event that nobody sets."""

    async def reward(number: int) -> float:
        if number == 5:
            await asyncio.Event().wait()
        await asyncio.sleep(0.1)
        return 1.0

    async def train() -> None:
        for step in range(1, 4):
            await asyncio.sleep(0.3)
            say(f"step {step}/40 reward 0.{step}")
        await asyncio.gather(*(reward(number) for number in range(8)))

    asyncio.run(train())


# its own threads and children


def pool_lost_one(folder: Path) -> None:
    """A worker of a multiprocessing.Pool is killed in the middle of a task: map waits for ever."""
    with multiprocessing.get_context("fork").Pool(3) as pool:
        say("Tokenizing 120000 documents with 3 workers")
        pool.map(killed_at, range(30), chunksize=1)


def killed_at(number: int) -> int:
    time.sleep(0.05)
    if number == 17:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def forked_lock(folder: Path) -> None:
    """Forks a worker while a thread holds the lock of the tokenizer."""
    lock = threading.Lock()

    def holds() -> None:
        with lock:
            time.sleep(2.0)

    warm()
    threading.Thread(target=holds, daemon=True).start()
    time.sleep(0.2)
    pid = os.fork()
    if pid == 0:
        with lock:
            os._exit(0)
    os.waitpid(pid, 0)
    say("tokenizer ready")


def lost_producer(folder: Path) -> None:
    """The prefetch thread dies of an exception, the main thread waits for its next batch."""
    batches: queue.Queue[int] = queue.Queue(2)

    def produce() -> None:
        for number in range(10):
            batches.put(number)
            if number == 4:
                raise ValueError("could not decode image 000000104.jpg")

    threading.Thread(target=produce, daemon=True, name="prefetch").start()
    for step in range(1, 41):
        batches.get()
        time.sleep(0.2)
        say(f"step {step}/40 loss {2 / step:.3f}")


def pool_of_itself(folder: Path) -> None:
    """A task of a pool of one thread waits for another task of the same pool."""
    warm()
    pool = ThreadPoolExecutor(1)
    pool.submit(lambda: pool.submit(len, "x").result()).result()


# done, and not gone


def lingers_at_exit(folder: Path) -> None:
    """All steps done; the tracker's exit handler joins a queue that nobody empties."""
    uploads: queue.Queue[str] = queue.Queue()
    uploads.put("media/table.json")
    atexit.register(uploads.join)
    warm(5, 5)
    say("Training completed. Model saved to out/final")


def lingering_thread(folder: Path) -> None:
    """All steps done; a thread that is no daemon keeps the process."""
    threading.Thread(target=threading.Event().wait, name="metrics-server").start()
    warm(5, 5)
    say("Saved checkpoint to out/step_5.pt")
    say("Done.")


if __name__ == "__main__":
    signal.alarm(LIFE_S)
    globals()[sys.argv[1]](Path(sys.argv[sys.argv.index("--folder") + 1]))
