"""Three workers share their weights in memory, and meet at a barrier each round."""

import multiprocessing as mp
import os
import random
import time
from multiprocessing.shared_memory import SharedMemory
from multiprocessing.synchronize import Barrier
from pathlib import Path

SIZE = 512


def hard_samples(rng: random.Random, number: int) -> list[float]:
    """Only what is harder than before."""
    least = min(0.95, 0.5 + number / 50)
    found: list[float] = []
    while len(found) < 16:
        sample = rng.random()
        if sample > least:
            found.append(sample)
    return found


def features(rank: int, seconds: float) -> None:
    """A small file for each sample, safe on the disk before the next."""
    folder, ends, number = Path(f"features{rank}"), time.monotonic() + seconds, 0
    folder.mkdir(exist_ok=True)
    while time.monotonic() < ends:
        with (folder / f"{number:06}.bin").open("wb") as file:
            file.write(random.randbytes(700))
            file.flush()
            os.fsync(file.fileno())
        number += 1
        time.sleep(0.03)


def work(rank: int, name: str, barrier: Barrier) -> None:
    memory, rng = SharedMemory(name), random.Random(rank)
    print(f"worker {rank} has pid {os.getpid()}", flush=True)
    for number in range(1, 41):
        if rank == 1 and number == 30:
            features(rank, 45)
        for sample in hard_samples(rng, number):
            memory.buf[(rank * 97 + int(sample * 1000)) % SIZE] ^= 1
        time.sleep(0.2)
        barrier.wait()
        if rank == 0:
            print(f"round {number}/40 ones {sum(memory.buf[:SIZE])}", flush=True)
    memory.close()


if __name__ == "__main__":
    shared, barrier = SharedMemory(create=True, size=SIZE), mp.Barrier(3)
    workers = [mp.Process(target=work, args=(rank, shared.name, barrier)) for rank in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    shared.close()
    shared.unlink()
