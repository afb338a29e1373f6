"""A run of gloo whose rank HANG_RANK stands at step 8: HOW it does so is told by its environment. DEAF ranks ignore SIGTERM."""

import fcntl
import os
import signal
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist

if os.environ.get("DEAF"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
dist.init_process_group("gloo")
rank, lock = dist.get_rank(), threading.Lock()


def fetch_batch(step: int) -> None:
    if str(rank) != os.environ.get("HANG_RANK") or step != 8 or Path("healed").exists():
        return
    if os.environ["HOW"] == "flock":
        with Path("/dev/shm/cache.lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
    else:
        lock.acquire()
        lock.acquire()


for step in range(1, 100_000):
    fetch_batch(step)
    time.sleep(0.1)
    dist.all_reduce(torch.ones(4))
    if rank == 0:
        print(f"step {step}/100000 loss {1 / step:.3f}", flush=True)
