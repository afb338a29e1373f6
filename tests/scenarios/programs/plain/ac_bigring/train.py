"""Ranks in a ring of TCP sockets: each passes what it has to the next and takes what comes from the one before."""

import multiprocessing
import os
import socket
import time

import numpy as np

SIZE = 3


def exactly(link, count):
    buffer = bytearray(count)
    view, got = memoryview(buffer), 0
    while got < count:
        got += link.recv_into(view[got:])
    return buffer


def ring_mean(value, after, before):
    """SIZE - 1 hops: send, then receive."""
    total, passing = value.copy(), value
    for _ in range(SIZE - 1):
        after.sendall(passing.tobytes())
        passing = np.frombuffer(exactly(before, passing.nbytes), dtype=value.dtype)
        total += passing
    return total / SIZE


def rank_main(rank, ports, listener):
    after = socket.create_connection(("127.0.0.1", ports[(rank + 1) % SIZE]))
    before, _ = listener.accept()
    rng = np.random.default_rng(rank)
    head, body = np.zeros(500), np.zeros(6_000_000)
    print(f"rank {rank} (pid {os.getpid()}) linked", flush=True)
    for step in range(1, 101):
        began = time.perf_counter()
        time.sleep(0.12)
        head += ring_mean(rng.standard_normal(500), after, before)
        if step == 30 and rank == 0:
            print("the body is no longer frozen", flush=True)
        if step >= 30:
            body += ring_mean(rng.standard_normal(len(body)), after, before)
        if rank == 0:
            print(f"step {step:>3} |g| {np.abs(head).mean():.4f} {1e3 * (time.perf_counter() - began):.0f} ms", flush=True)


def main():
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(SIZE)]
    ports = [listener.getsockname()[1] for listener in listeners]
    ranks = [multiprocessing.Process(target=rank_main, args=(rank, ports, listeners[rank])) for rank in range(SIZE)]
    for one in ranks:
        one.start()
    for one in ranks:
        one.join()


if __name__ == "__main__":
    main()
