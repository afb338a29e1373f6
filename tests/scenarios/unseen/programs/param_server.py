"""A parameter server over TCP and three workers; synchronous rounds."""

from __future__ import annotations

import argparse
import json
import random
import socket
import subprocess
import sys
import time

WORKERS = 3


def compute_gradient(weights, shard):
    """Least squares on made-up points."""
    points = [random.gauss(shard, 1.0) for _ in range(200)]
    gradient = []
    for position, weight in enumerate(weights):
        total = 0.0
        for point in points:
            total += weight - point * (position + 1)
        gradient.append(total / len(points))
    return gradient


def work(port, worker):
    """One worker: ask for weights, answer with a gradient, until told to stop."""
    with socket.create_connection(("127.0.0.1", port)) as server, server.makefile("rw") as lines:
        lines.write(json.dumps({"hello": worker}) + "\n")
        lines.flush()
        for line in lines:
            message = json.loads(line)
            if message["do"] == "stop":
                break
            gradient = compute_gradient(message["weights"], worker)
            time.sleep(0.12)
            lines.write(json.dumps({"worker": worker, "gradient": gradient}) + "\n")
            lines.flush()


def serve(listener, steps):
    """The server's rounds."""
    peers = []
    while len(peers) < WORKERS:
        peer, _ = listener.accept()
        lines = peer.makefile("rw")
        hello = json.loads(lines.readline())
        print(f"INFO:ps:worker {hello['hello']} joined", flush=True)
        peers.append(lines)
    weights = [0.0] * 6
    for update in range(1, steps + 1):
        for lines in peers:
            lines.write(json.dumps({"do": "grad", "weights": weights}) + "\n")
            lines.flush()
        norm = 0.0
        for lines in peers:
            answer = json.loads(lines.readline())
            for position, value in enumerate(answer["gradient"]):
                weights[position] -= 0.02 * value
                norm += value * value
        time.sleep(0.05)
        print(f"INFO:ps:update {update} applied from {WORKERS} workers, grad norm {norm**0.5:.4f}", flush=True)
    for lines in peers:
        lines.write(json.dumps({"do": "stop"}) + "\n")
        lines.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--worker", type=int)
    parser.add_argument("--port", type=int)
    given = parser.parse_args()
    if given.worker is not None:
        work(given.port, given.worker)
        return
    listener = socket.create_server(("127.0.0.1", 0))
    told = [sys.executable, __file__, "--folder", given.folder, "--port", str(listener.getsockname()[1])]
    workers = [subprocess.Popen([*told, "--worker", str(index)]) for index in range(WORKERS)]
    serve(listener, given.steps)
    for process in workers:
        process.wait()
    print("INFO:ps:job finished", flush=True)


if __name__ == "__main__":
    main()
