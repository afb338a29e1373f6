"""Three ranks by multiprocessing.spawn with pairs of pipes to rank 0. `DEBUG_NAN=1` opens a debugger where a loss is no number:
over a socket, since nobody sees the terminal of a rank."""

import math
import os
import pdb
import socket
import sys
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection


def debugger() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    print(f"RemotePdb session open at 127.0.0.1:{server.getsockname()[1]}, waiting for connection ...", flush=True)
    link, _ = server.accept()
    stream = link.makefile("rw")
    pdb.Pdb(stdin=stream, stdout=stream).set_trace(sys._getframe(1))


def loss_of(rank: int, step: int) -> float:
    if rank == 1 and step == 24:
        return math.inf - math.inf
    return 4 / (step + rank)


def train(rank: int, links: list[Connection]) -> None:
    print(f"rank {rank} (pid {os.getpid()})", flush=True)
    for step in range(1, 200):
        loss = loss_of(rank, step)
        if math.isnan(loss):
            debugger()
        time.sleep(0.2)
        if rank:
            links[0].send(loss)
            loss = links[0].recv()
        else:
            loss = (loss + sum(link.recv() for link in links)) / 3
            for link in links:
                link.send(loss)
            print(f"rank 0: step {step} mean loss {loss:.4f}", flush=True)


if __name__ == "__main__":
    context = get_context("spawn")
    one, two = context.Pipe(), context.Pipe()
    ends = [[one[0], two[0]], [one[1]], [two[1]]]
    for process in [context.Process(target=train, args=(rank, ends[rank])) for rank in range(3)]:
        process.start()
