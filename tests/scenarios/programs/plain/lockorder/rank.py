"""One of two ranks that keep an index and a weights file on a shared disk, each behind a lock file of its own."""

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RANK = int(sys.argv[1])


@contextmanager
def held(name: str) -> Iterator[None]:
    with Path(f"{name}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def publish(step: int) -> None:
    """Weights first, then the index that tells where they are."""
    with held("weights"):
        Path(f"weights.{RANK}").write_text(f"{step} " * 1000)
        time.sleep(0.05)
        with held("index"):
            Path("index").write_text(f"{step} {RANK}\n")


def prune(step: int) -> None:
    """The index tells what is old; then the old weights go."""
    with held("index"):
        kept = Path("index").read_text().split()
        time.sleep(1.0)
        with held("weights"):
            Path("weights.old").write_text(" ".join(kept))


print(f"[rank {RANK}] up, pid {os.getpid()}", flush=True)
for step in range(1, 200):
    time.sleep(0.2)
    print(f"[rank {RANK}] step {step} loss {1 / step:.4f}", flush=True)
    if RANK == 0 and step % 3 == 0:
        publish(step)
    if RANK == 1 and step % 40 == 0:
        prune(step)
