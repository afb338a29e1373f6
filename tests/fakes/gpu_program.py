"""One rank of a run on GPUs that are played: it trains a little, then waits for its GPU, for a lock, or for a disk.

    python gpu_program.py LIBRARY {gpu,blocked,init,lock,disk} [PATH]

LIBRARY holds `cudaStreamSynchronize`, which polls until the end of a kernel that never comes, as the driver does by default,
`cudaEventSynchronize`, which sleeps meanwhile (cudaDeviceScheduleBlockingSync), and NCCL's start, which waits for its peers.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from pathlib import Path


def train_step(library: ctypes.CDLL, way: str, path: str) -> None:
    if way == "gpu":
        library.cudaStreamSynchronize(None)
    elif way == "blocked":
        library.cudaEventSynchronize(None)
    elif way == "init":
        library.ncclCommInitRankConfig(None)
    elif way == "lock":
        load_shard()
    elif way == "disk":
        Path(path).write_bytes(b"x")


def load_shard() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def main() -> None:
    library, way, *path = sys.argv[1:]
    os.nice(15)
    for step in range(1, 6):
        print(f"[rank{os.environ['RANK']}]: step {step}/400 loss {1 / step:.3f}", flush=True)
        time.sleep(0.1)
    train_step(ctypes.CDLL(library), way, *path or [""])


main()
