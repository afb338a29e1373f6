"""Four workers on one block of shared memory, kept in step by a barrier and an event."""

from __future__ import annotations

import argparse
import multiprocessing
import struct
import time
from multiprocessing.shared_memory import SharedMemory

WORKERS = 4


def slot(block, index, value=None):
    """Read or write the number of a worker."""
    if value is not None:
        struct.pack_into("d", block.buf, 8 * index, value)
    return struct.unpack_from("d", block.buf, 8 * index)[0]


def relax(value, left, right):
    """A step of a toy solver."""
    for _ in range(2000):
        value = 0.5 * value + 0.25 * (left + right) + 1e-6
    return value


def work(rank, name, barrier, go, steps):
    """One worker: wait for the signal, compute, meet, publish."""
    block = SharedMemory(name)
    go.wait()
    for step in range(steps):
        left = slot(block, (rank - 1) % WORKERS)
        right = slot(block, (rank + 1) % WORKERS)
        barrier.wait()
        value = relax(slot(block, rank), left, right)
        slot(block, rank, value)
        time.sleep(0.1)
        barrier.wait()
        if rank == step % WORKERS:
            print(f"worker[{rank}] sweep {step:04d} residual {abs(value - left):.3e}", flush=True)
    block.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    block = SharedMemory(create=True, size=8 * WORKERS)
    try:
        for index in range(WORKERS):
            slot(block, index, float(index))
        barrier, go = multiprocessing.Barrier(WORKERS), multiprocessing.Event()
        workers = [
            multiprocessing.Process(target=work, args=(index, block.name, barrier, go, given.steps)) for index in range(WORKERS)
        ]
        for process in workers:
            process.start()
        time.sleep(0.3)
        go.set()
        for process in workers:
            process.join()
        failed = any(process.exitcode for process in workers)
        print("some workers failed" if failed else "converged after all sweeps", flush=True)
    finally:
        block.close()
        block.unlink()
    if failed:
        raise SystemExit(2)


if __name__ == "__main__":
    main()
