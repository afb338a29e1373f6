"""Four workers in a ring of unix socket pairs, started by a parent that keeps no count of them. A guard ends a worker at once
when its numbers are no numbers any more."""

import math
import os
import socket
import time

WORLD = 4
links = [socket.socketpair() for _ in range(WORLD)]


def worker(rank: int) -> None:
    to, back = links[rank][0], links[rank - 1][1]
    print(f"worker {rank}: pid {os.getpid()}", flush=True)
    value = 1.0 + rank
    for step in range(1, 200):
        time.sleep(0.15)
        if rank == 3 and step > 25:
            value *= 1e200
        if not math.isfinite(value):
            os._exit(17)
        to.send(f"{value:.6e}".encode().ljust(32))
        left = float(back.recv(32, socket.MSG_WAITALL))
        value = value if rank == 3 else (value + left) / 2
        if rank == 0:
            print(f"round {step}: {value:.4g}", flush=True)
    os._exit(0)


for rank in range(WORLD):
    if os.fork() == 0:
        worker(rank)
time.sleep(36000)
