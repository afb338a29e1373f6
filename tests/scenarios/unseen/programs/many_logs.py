"""Two hosts by name, two ranks each, in lock step over TCP; a log for each host, which its ranks share."""

from __future__ import annotations

import argparse
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

HOSTS = ("nodeA", "nodeB")
WORLD = 4


def reduce_all(links, value):
    """Rank 0 adds up and sends the sum back."""
    total = value
    for link in links:
        total += struct.unpack("d", link.recv(8, socket.MSG_WAITALL))[0]
    for link in links:
        link.sendall(struct.pack("d", total))
    return total


def reduce_one(link, value):
    """The others' half of it."""
    link.sendall(struct.pack("d", value))
    data = link.recv(8, socket.MSG_WAITALL)
    if len(data) != 8:
        raise ConnectionResetError("lost rank 0")
    return struct.unpack("d", data)[0]


def connect(rank, port):
    """The links of this rank."""
    if rank > 0:
        while True:
            try:
                return [socket.create_connection(("127.0.0.1", port))]
            except ConnectionRefusedError:
                time.sleep(0.1)
    listener = socket.create_server(("127.0.0.1", port))
    return [listener.accept()[0] for _ in range(WORLD - 1)]


def train(rank, port, steps):
    """One rank."""
    links = connect(rank, port)
    host, weight = HOSTS[rank // 2], 0.1 * rank
    for step in range(steps):
        value = weight
        for turn in range(1500):
            value = 0.999 * value + 0.001 * (turn % (rank + 2))
        time.sleep(0.15)
        total = reduce_all(links, value) if rank == 0 else reduce_one(links[0], value)
        weight = total / WORLD
        print(f"{host} rank{rank}: Train [{step}/{steps}] Loss {weight:.4f} ({value:.4f})", flush=True)
    print(f"{host} rank{rank}: done.", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--port", type=int)
    given = parser.parse_args()
    if given.port:
        train(int(os.environ["RANK"]), given.port, given.steps)
        return
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    (given.folder / "out").mkdir(exist_ok=True)
    ranks = []
    for index in range(WORLD):
        with (given.folder / "out" / f"{HOSTS[index // 2]}.out").open("a") as log:
            argv = [sys.executable, *sys.argv, "--port", str(port)]
            ranks.append(subprocess.Popen(argv, stdout=log, stderr=log, env=os.environ | {"RANK": str(index)}))
    codes = [process.wait() for process in ranks]
    sys.exit(1 if any(codes) else 0)


if __name__ == "__main__":
    main()
