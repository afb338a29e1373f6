"""Trainings of several processes without torch, each put together in another way; in most of them one rank goes wrong.

    kin.py CASE --folder F

Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.managers import BaseManager
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path

LIFE_S = 200


def say(text: str) -> None:
    print(text, flush=True)


def cook(seconds: float) -> float:
    ends, total = time.monotonic() + seconds, 0.0
    while time.monotonic() < ends:
        total += sum(i * i % 7 for i in range(20_000))
    return total


# multiprocessing, three start methods


def run(ranks: Sequence[BaseProcess]) -> None:
    """Start them all, and wait for them in their order."""
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()


def forkserver(folder: Path) -> None:
    """Four ranks of a fork server meet at a Barrier; rank 2 swallows an exception and waits to be told to stop."""
    context = multiprocessing.get_context("forkserver")
    meet, stop = context.Barrier(4), context.Event()
    run([context.Process(target=forkserver_rank, args=(rank, meet, stop)) for rank in range(4)])


def forkserver_rank(rank: int, meet: Barrier, stop: threading.Event) -> None:
    signal.alarm(LIFE_S)
    for step in range(1, 40):
        time.sleep(0.1)
        try:
            if rank == 2 and step == 5:
                raise KeyError("input_ids")
        except KeyError:
            break
        meet.wait()
        if rank == 0:
            say(f"[rank0] step {step}/40 loss {2 / step:.3f}")
    stop.wait()


class Parameters:
    """A parameter server: whoever holds it may write."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values = 0

    def take(self) -> None:
        self.lock.acquire()

    def give(self) -> None:
        self.lock.release()


class Shop(BaseManager):
    """Serves the parameters."""


Shop.register("Parameters", Parameters)


def manager(folder: Path) -> None:
    """Six workers take turns at a parameter server; worker 4 sleeps while it has the turn."""
    context = multiprocessing.get_context("fork")
    shop = Shop(ctx=context)
    shop.start()
    parameters = shop.Parameters()  # type: ignore[attr-defined]
    run([context.Process(target=manager_worker, args=(rank, parameters), name=f"worker-{rank}") for rank in range(6)])


def manager_worker(rank: int, parameters: Parameters) -> None:
    signal.alarm(LIFE_S)
    for step in range(1, 40):
        time.sleep(0.05)
        parameters.take()
        if rank == 4 and step == 6:
            time.sleep(10_000)
        parameters.give()
        say(f"[worker {rank}] step {step}/40 pushed gradients")


def spawned_queue(folder: Path) -> None:
    """Four spawned ranks; the prefetch thread of rank 1 dies, its main thread waits for a batch, the others for rank 1."""
    context = multiprocessing.get_context("spawn")
    meet = context.Barrier(4)
    run([context.Process(target=spawned_queue_rank, args=(rank, meet)) for rank in range(4)])


def spawned_queue_rank(rank: int, meet: Barrier) -> None:
    signal.alarm(LIFE_S)
    batches: queue.Queue[int] = queue.Queue(2)

    def prefetch() -> None:
        for number in range(100):
            batches.put(number)
            if rank == 1 and number == 5:
                raise OSError("truncated file: shard-00017.tar")

    threading.Thread(target=prefetch, daemon=True).start()
    for step in range(1, 100):
        batches.get()
        time.sleep(0.1)
        meet.wait()
        if rank == 0:
            say(f"iter {step}/100 | loss: {3 / step:.4f}")


# launchers that are scripts

HUB = """
import os, socket, sys, time, signal, subprocess, threading
signal.alarm(200)
RANK, WORLD = int(os.environ[{rank!r}]), int(os.environ[{world!r}])
mine = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
mine.bind(f"rank{{RANK}}")

def allreduce():
    if RANK == 0:
        for _ in range(WORLD - 1): mine.recv(8)
        for other in range(1, WORLD): mine.sendto(b"sum", f"rank{{other}}")
    else:
        while True:
            try: mine.sendto(b"part", "rank0"); break
            except FileNotFoundError: time.sleep(0.05)
        mine.recv(8)

for step in range(1, 1000):
    time.sleep(0.1)
{fault}
    allreduce()
    if RANK == 0: print(f"step {{step}}/1000 loss {{3/step:.4f}}", flush=True)
"""


def script(folder: Path, fault: str, rank: str = "RANK", world: str = "WORLD_SIZE") -> Path:
    lines = "\n".join(f"    {line}" for line in fault.splitlines())
    (folder / "train.py").write_text(HUB.format(fault=lines, rank=rank, world=world))
    return folder / "train.py"


def mpirun(folder: Path) -> None:
    """Eight ranks with the numbers of Open MPI; rank 5 reads a fifo that nobody writes."""
    script(folder, "if RANK == 5 and step == 8: open('samples.fifo').read()", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
    os.mkfifo(folder / "samples.fifo")
    names = [{"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": str(rank)} for rank in range(8)]
    ranks = [subprocess.Popen([sys.executable, "train.py"], cwd=folder, env=os.environ | variables) for variables in names]
    for process in ranks:
        process.wait()


def srun(folder: Path) -> None:
    """A shell starts four ranks with the numbers of Slurm and waits; rank 1 dies of a segmentation fault, the others go on waiting."""
    script(
        folder,
        "if RANK == 1 and step == 8: import ctypes; ctypes.string_at(0)",
        "SLURM_PROCID",
        "SLURM_NTASKS",
    )
    line = f"for r in 0 1 2 3; do SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_LOCALID=$r SLURM_PROCID=$r {sys.executable} -u train.py & done; wait"
    subprocess.run(["bash", "-c", line], cwd=folder)


def orphans(folder: Path) -> None:
    """Eight ranks, each started with setsid and nohup by a shell that ended; they meet by files. Rank 6 hangs in a subprocess."""
    (folder / "train.py").write_text(
        "import os, sys, time, pathlib, subprocess, signal\nsignal.alarm(200)\n"
        "rank = int(sys.argv[sys.argv.index('--node_rank') + 1])\n"
        "def meet(step):\n"
        "    pathlib.Path(f'sync/{step}.{rank}').touch()\n"
        "    while len(list(pathlib.Path('sync').glob(f'{step}.*'))) < 8:\n"
        "        time.sleep(0.2)\n"
        "for step in range(1, 100):\n"
        "    time.sleep(0.1)\n"
        "    if rank == 6 and step == 4:\n"
        "        subprocess.run(['cat'], stdin=os.pipe()[0])\n"
        "    meet(step)\n"
        "    print(f'rank {rank}: step {step}/100 done', flush=True)\n"
    )
    (folder / "sync").mkdir()
    line = (
        f"for r in 0 1 2 3 4 5 6 7; do setsid nohup {sys.executable} train.py --node_rank $r --nnodes 8 >> train.log 2>&1 </dev/null & done; sleep 1"
    )
    subprocess.run(["bash", "-c", line], cwd=folder)
    os.execvp("sleep", ["sleep", str(LIFE_S)])


def unnumbered(folder: Path) -> None:
    """Five processes that get their number by their standard input, from a Python launcher; the fourth waits for a lock."""
    (folder / "worker.py").write_text(
        "import sys, time, threading, signal\nsignal.alarm(200)\n"
        "me = int(sys.stdin.readline())\n"
        "for step in range(1, 100):\n"
        "    sys.stdin.readline()\n"
        "    if me == 3 and step == 7:\n"
        "        lock = threading.Lock(); lock.acquire(); lock.acquire()\n"
        "    time.sleep(0.1)\n"
        "    print(f'worker={me} step={step}', flush=True)\n"
    )
    workers = [
        subprocess.Popen([sys.executable, "worker.py"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(5)
    ]
    for number, worker in enumerate(workers):
        assert worker.stdin
        worker.stdin.write(f"{number}\n")
    while True:
        for worker in workers:
            assert worker.stdin
            worker.stdin.write("go\n")
            worker.stdin.flush()
        for worker in workers:
            assert worker.stdout
            say(worker.stdout.readline().rstrip())


def own_logs(folder: Path) -> None:
    """Each rank writes logs/rank_K.log only; rank 3 of 4 leaves with exit code 0 in the middle."""
    (folder / "logs").mkdir(exist_ok=True)
    path = script(folder, "if RANK == 3 and step == 8: sys.exit(0)\nprint(f'step {step}/1000 ok', flush=True)")
    ranks = []
    for rank in range(4):
        with (folder / "logs" / f"rank_{rank}.log").open("w") as log:
            env = os.environ | {"RANK": str(rank), "WORLD_SIZE": "4", "LOCAL_RANK": str(rank)}
            ranks.append(subprocess.Popen([sys.executable, str(path)], cwd=folder, env=env, stdout=log, stderr=log))
    for process in ranks:
        process.wait()


def reaped_in_order(folder: Path) -> None:
    """Rank 2 is killed as the OOM killer kills; the launcher waits for rank 0 first and does not see it."""
    path = script(folder, "if RANK == 2 and step == 8: os.kill(os.getpid(), 9)")
    ranks = [subprocess.Popen([sys.executable, str(path)], cwd=folder, env=os.environ | {"RANK": str(r), "WORLD_SIZE": "4"}) for r in range(4)]
    for process in ranks:
        process.wait()


def sixteen_stopped(folder: Path) -> None:
    """Sixteen ranks; somebody sent SIGSTOP to rank 11."""
    path = script(folder, "if RANK == 11 and step == 8: os.kill(os.getpid(), signal.SIGSTOP)")
    ranks = [
        subprocess.Popen([sys.executable, str(path), f"--local_rank={r}"], cwd=folder, env=os.environ | {"RANK": str(r), "WORLD_SIZE": "16"})
        for r in range(16)
    ]
    for process in ranks:
        process.wait()


def traceback_stays(folder: Path) -> None:
    """Rank 1 raises, prints its traceback, and stays: a thread of it is no daemon."""
    path = script(
        folder,
        "if RANK == 1 and step == 8:\n    threading.Thread(target=threading.Event().wait).start()\n    raise RuntimeError('expected scalar type Half but found Float')",
    )
    ranks = [subprocess.Popen([sys.executable, str(path)], cwd=folder, env=os.environ | {"RANK": str(r), "WORLD_SIZE": "3"}) for r in range(3)]
    for process in ranks:
        process.wait()


def one_batch_less(folder: Path) -> None:
    """Four ranks exchange by pairs of pipes; rank 2 has one batch less and is at the end of the epoch already."""
    lines = [[os.pipe() for _ in range(4)] for _ in range(4)]
    pids = []
    for rank in range(4):
        pid = os.fork()
        if pid == 0:
            os.environ["LOCAL_RANK"] = str(rank)
            one_batch_less_rank(rank, lines)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)


def one_batch_less_rank(rank: int, lines: list[list[tuple[int, int]]]) -> None:
    signal.alarm(LIFE_S)

    def all_to_all(word: bytes) -> None:
        for other in range(4):
            os.write(lines[rank][other][1], word)
        for other in range(4):
            os.read(lines[other][rank][0], len(word))

    def gradient_sync() -> None:
        all_to_all(b"g" * 8)

    def end_of_epoch() -> None:
        done = multiprocessing.Event()
        done.wait()

    for step in range(1, 12 if rank == 2 else 13):
        time.sleep(0.1)
        gradient_sync()
        say(f"[{rank}] epoch 0 batch {step}")
    end_of_epoch()


# alive


def saves(folder: Path) -> None:
    """Rank 0 writes its checkpoint slowly to a slow disk, the others wait for it."""
    path = script(
        folder,
        "if RANK == 0 and step == 8:\n"
        "    print('saving checkpoint to out/step_8', flush=True)\n"
        "    with open('step_8.pt', 'wb') as f:\n"
        "        for part in range(2000):\n"
        "            f.write(os.urandom(1 << 19)); f.flush(); os.fsync(f.fileno()); time.sleep(0.2); f.seek(0)",
    )
    ranks = [subprocess.Popen([sys.executable, str(path)], cwd=folder, env=os.environ | {"RANK": str(r), "WORLD_SIZE": "4"}) for r in range(4)]
    for process in ranks:
        process.wait()


def evaluates(folder: Path) -> None:
    """Rank 0 of eight evaluates alone, in Python; the others wait at the barrier."""
    context = multiprocessing.get_context("fork")
    meet = context.Barrier(8)
    run([context.Process(target=evaluates_rank, args=(rank, meet)) for rank in range(8)])


def evaluates_rank(rank: int, meet: Barrier) -> None:
    signal.alarm(LIFE_S)
    for step in range(1, 9):
        time.sleep(0.1)
        meet.wait()
        if rank == 0:
            say(f"step {step}/80")
    if rank == 0:
        say("Running evaluation")
        for _batch in range(1000):
            cook(0.2)
            time.sleep(0.02)
    meet.wait()


def data_from_children(folder: Path) -> None:
    """Two ranks; each waits for its own preprocessing children, which work."""
    for rank in range(2):
        if os.fork() == 0:
            os.environ["RANK"] = str(rank)
            signal.alarm(LIFE_S)
            say(f"[rank {rank}] Tokenizing with 2 processes")
            code = "import time, zlib, os\ne = time.time() + 200\nwhile time.time() < e: zlib.compress(os.urandom(400000), 9); time.sleep(0.05)"
            children = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)]
            select.select([child.stdout for child in children], [], [])
            os._exit(0)
    os.wait()


def healthy(folder: Path) -> None:
    """Nine ranks, nothing wrong; rank 0 logs."""
    path = script(folder, "pass")
    ranks = [subprocess.Popen([sys.executable, str(path)], cwd=folder, env=os.environ | {"RANK": str(r), "WORLD_SIZE": "9"}) for r in range(9)]
    for process in ranks:
        process.wait()


if __name__ == "__main__":
    signal.alarm(LIFE_S)
    globals()[sys.argv[1]](Path(sys.argv[sys.argv.index("--folder") + 1]))
