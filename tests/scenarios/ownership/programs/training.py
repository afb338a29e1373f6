"""A training of two ranks without torch, as plain as may be.

    training.py [--style plain|gkd|torchrun|ray] [--end WAY] [--address OF_A_RAY] [--anew LOG] [--ranks N]

`--style`: whose words the log has. `--end`: how it goes on after five steps. `--anew`: the log is opened for each line, and no
process holds it open.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

STEPS = 5
GKD = (
    "ray init kwargs: {{'num_cpus': None}}",
    "TaskRunner hostname: n1, PID: {pid}",
    "resource_pool_spec: {{'rollout_pool': [2], 'actor_pool': [4]}}",
    "Size of train dataloader: 400",
    "Total training steps: 400",
)
JOINED = (
    "2026-11-20 11:02:07,101\tINFO worker.py:1694 -- Connecting to existing Ray cluster at address: {address}...",
    "2026-11-20 11:02:07,114\tINFO worker.py:1879 -- Connected to Ray cluster.",
)
TORCHRUN = (
    "W1122 10:00:01.123000 {pid} torch/distributed/run.py:774] *****************************************",
    "W1122 10:00:01.123000 {pid} torch/distributed/run.py:774] Setting OMP_NUM_THREADS environment variable to be 1",
)


def writer(anew: str) -> Callable[[str], None]:
    def say(text: str) -> None:
        if not anew:
            print(text, flush=True)
            return
        with open(anew, "a") as log:
            log.write(text + "\n")

    return say


def lines_of(style: str, rank: int, step: int) -> tuple[str, ...]:
    if style in ("gkd", "ray"):
        figures = f"step:{step} - actor/kd_loss:{1 / step:.3f} - actor/grad_norm:1.2 - timing_s/step:0.1"
        said = ("INFO: generate text done.", "INFO: update actor done.", figures) if style == "gkd" else (figures,)
        return tuple(f"(TaskRunner pid={os.getpid()}) {line}" for line in said) if rank == 0 else ()
    return (f"[rank{rank}]: step {step}/400 loss {1 / step:.3f}",)


def rank_main(rank: int, style: str, end: str, say: Callable[[str], None]) -> None:
    last = STEPS if end != "goes_on" else 100_000
    for step in range(1, last + 1):
        for line in lines_of(style, rank, step):
            say(line)
        time.sleep(0.1 if step <= STEPS else 0.5)
    if end == "flood":
        while True:
            say("\n".join(f"[rank{rank}] debug: a line among many, of a hundred bytes or so {line:030}" for line in range(200)))
            time.sleep(0.01)
    if end == "work":
        while True:
            work()
            time.sleep(0.05)
    if end == "lock":
        wait_for_lock()
    elif end == "killed":  # as the OOM killer leaves it: nobody says a word
        os.kill(os.getpid(), signal.SIGKILL)
    elif end == "crash" and rank == 1:
        raise ValueError("shapes (4, 8) and (9, 2) do not fit")
    elif end == "thread":  # its first thread has ended, another computes
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        threading.Thread(target=wait_for_lock).start()
        import ctypes

        ctypes.CDLL(None).pthread_exit(None)


def work() -> int:
    return sum(number * number % 7 for number in range(300_000))


def wait_for_lock() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def start_ranks(words: list[str], ranks: int) -> list[subprocess.Popen[bytes]]:
    place = {"MASTER_ADDR": os.environ.get("MASTER_ADDR", "127.0.0.1"), "MASTER_PORT": os.environ.get("MASTER_PORT", "29500")}
    return [
        subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), *words],
            env={**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks)},
        )
        for rank in range(ranks)
    ]


def fork_and_wait(*_: object) -> None:
    """A handler of SIGTERM as some programs have it: what saves the state is a child, which takes its time."""
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execvp("sleep", ["sleep", "600"])
    os._exit(0)


def supervise(words: list[str], ranks: list[subprocess.Popen[bytes]]) -> None:
    """Start again whoever ends, and take no notice of SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        for place, rank in enumerate(ranks):
            if rank.poll() is not None:
                (ranks[place],) = start_ranks(words, 1)
        time.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--style", default="plain")
    parser.add_argument("--end", default="goes_on")
    parser.add_argument("--address", default="192.0.2.2:45107")
    parser.add_argument("--anew", default="")
    parser.add_argument("--ranks", type=int, default=2)
    asked = parser.parse_args()
    say = writer(asked.anew)
    if "RANK" in os.environ:
        rank = int(os.environ["RANK"])
        if asked.end == "forks":
            signal.signal(signal.SIGTERM, fork_and_wait)
        rank_main(rank, asked.style, "lock" if asked.end in ("forks", "supervised") else asked.end, say)
        return
    start = {"gkd": GKD, "ray": JOINED, "torchrun": TORCHRUN}.get(asked.style, ())
    for line in start:
        front = f"(TaskRunner pid={os.getpid()}) " if asked.style == "gkd" else ""
        say(front + line.format(pid=os.getpid(), address=asked.address))
    ranks = start_ranks(sys.argv[1:], asked.ranks)
    if asked.end == "supervised":
        supervise(sys.argv[1:], ranks)
    codes = [rank.wait() for rank in ranks]
    if asked.end == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if asked.end == "finish":
        say("Training completed. Do not forget to share your model.")
    sys.exit(max(codes))


main()
