"""A data set streamed from a throttled server into memory by a prefetching process, and two trainers on it."""

from __future__ import annotations

import argparse
import multiprocessing
import socket
import threading
import time

TRAINERS = 2
CHUNK = 4096


def throttled(listener):
    """The server: a chunk, a pause, for ever."""
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=stream, args=(peer,), daemon=True).start()


def stream(peer):
    number = 0
    try:
        while True:
            peer.sendall(bytes((number + place) % 251 for place in range(CHUNK)))
            number += 1
            time.sleep(0.04)
    except OSError:
        peer.close()


def prefetch(port, queues):
    """Collect chunks, and deal them out."""
    with socket.create_connection(("127.0.0.1", port)) as server:
        while True:
            for queue in queues:
                chunk = bytearray()
                while len(chunk) < CHUNK:
                    part = server.recv(CHUNK - len(chunk))
                    if not part:
                        raise ConnectionError("stream ended early")
                    chunk += part
                queue.put(bytes(chunk))


def train(rank, chunks, gate, steps):
    """One trainer."""
    loss = 2.0
    for step in range(1, steps + 1):
        chunk = chunks.get()
        total = 0
        for byte in chunk:
            total = (total * 5 + byte) % 9973
        loss = 0.95 * loss + 0.05 * total / 9973
        time.sleep(0.15)
        gate.wait()
        print(f"R{rank} s{step} l{loss:.4f}", flush=True)
    print(f"R{rank} ok", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    queues = [multiprocessing.Queue(maxsize=2) for _ in range(TRAINERS)]
    gate = multiprocessing.Barrier(TRAINERS)
    helpers = [
        multiprocessing.Process(target=throttled, args=(listener,), name="mirror", daemon=True),
        multiprocessing.Process(target=prefetch, args=(port, queues), name="prefetch", daemon=True),
    ]
    trainers = [
        multiprocessing.Process(target=train, args=(index, queue, gate, given.steps)) for index, queue in enumerate(queues)
    ]
    for process in (*helpers, *trainers):
        process.start()
    for process in trainers:
        process.join()
    if any(process.exitcode for process in trainers):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
