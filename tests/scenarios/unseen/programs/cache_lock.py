"""Three workers that build shards of a cache under a file lock, and count each other's steps in a file."""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

WORKERS = 3


@contextmanager
def locked(path):
    """The lock of the cache."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def shard(cache, number):
    """Shard NUMBER, built by whoever comes first."""
    path = cache / f"shard-{number:05d}.bin"
    with locked(cache / "cache.lock"):
        if not path.exists():
            data = hashlib.sha256(str(number).encode()).digest() * 100
            time.sleep(0.03)
            part = path.with_suffix(".part")
            part.write_bytes(data)
            part.rename(path)
    return path.read_bytes()


def meet(cache, step):
    """Wait until all workers have come to this step."""
    with (cache / f"arrived-{step}").open("a") as file:
        file.write("x")
    while (cache / f"arrived-{step}").stat().st_size < WORKERS:
        time.sleep(0.02)
    old = cache / f"arrived-{step - 2}"
    old.unlink(missing_ok=True)


def work(cache, name, steps):
    """The loop of one worker."""
    loss = 4.0
    for step in range(steps):
        data = shard(cache, step // 4)
        digest = 0
        for byte in data:
            digest = (digest * 33 + byte) % 65521
        loss = 0.99 * loss + 0.01 * digest / 65521
        time.sleep(0.1)
        meet(cache, step)
        if name == "alpha":
            print(f"{time.strftime('%b %d %H:%M:%S')} host trainer[{os.getpid()}]: step {step} loss {loss:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--name")
    given = parser.parse_args()
    cache = given.folder / "cache"
    cache.mkdir(exist_ok=True)
    if given.name:
        work(cache, given.name, given.steps)
        return
    argv = [sys.executable, __file__, "--folder", str(given.folder), "--steps", str(given.steps)]
    workers = [subprocess.Popen([*argv, "--name", name]) for name in ("alpha", "beta", "gamma")]
    codes = [process.wait() for process in workers]
    if any(codes):
        sys.exit(f"a worker failed: {codes}")
    print(f"{time.strftime('%b %d %H:%M:%S')} host trainer: run ended normally", flush=True)


if __name__ == "__main__":
    main()
