"""Five environments write what they have seen into slots of shared memory; the learner takes a batch when enough slots are full."""

import mmap
import multiprocessing as mp
import os
import random
import struct
import time
from multiprocessing.shared_memory import SharedMemory
from multiprocessing.synchronize import Semaphore

WIDTH = 64
SLOTS = 32
PAGES = 40


def levels(number: int) -> str:
    """The file of levels of one environment."""
    name = f"levels-{number}.bin"
    whole = PAGES if number != 3 else 27
    with open(name, "wb") as out:
        out.write(random.Random(number).randbytes(4096 * whole))
    return name


def act(number: int, ring: str, turn: Semaphore, full: "mp.Queue[int]", free: "mp.Queue[int]") -> None:
    print(f"env {number}: pid {os.getpid()}", flush=True)
    memory = SharedMemory(ring)
    with open(levels(number), "r+b") as file:
        whole = os.fstat(file.fileno()).st_size
        file.truncate(4096 * PAGES)
        board = mmap.mmap(file.fileno(), 4096 * PAGES, access=mmap.ACCESS_READ)
        file.truncate(whole)
    for episode in range(2000):
        time.sleep(0.2)
        slot = free.get()
        with turn:
            page = episode % PAGES
            seen = board[4096 * page : 4096 * page + WIDTH]
            memory.buf[slot * WIDTH : (slot + 1) * WIDTH] = seen
        full.put(slot)


def main() -> None:
    context = mp.get_context("spawn")
    memory = SharedMemory(create=True, size=SLOTS * WIDTH)
    turn = context.Semaphore(1)
    full, free = context.Queue(), context.Queue()
    for slot in range(SLOTS):
        free.put(slot)
    for number in range(5):
        context.Process(target=act, args=(number, memory.name, turn, full, free), daemon=True).start()
    print(f"learner: pid {os.getpid()}", flush=True)
    value = 0.0
    for update in range(1, 500):
        slots = [full.get() for _ in range(5)]
        seen = [struct.unpack_from("<H", memory.buf, slot * WIDTH)[0] / 65535 for slot in slots]
        value += 0.1 * (sum(seen) / 5 - value)
        for slot in slots:
            free.put(slot)
        print(f"learner: update {update} value {value:.4f}", flush=True)


if __name__ == "__main__":
    main()
