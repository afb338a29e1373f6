"""A reward server on a unix socket, and two trainers that ask it for every batch."""

from __future__ import annotations

import argparse
import os
import pickle
import socket
import socketserver
import struct
import subprocess
import sys
import time
from pathlib import Path

TRAINERS = 2


def read(connection):
    """One framed object."""
    (size,) = struct.unpack("!I", exactly(connection, 4))
    return pickle.loads(exactly(connection, size))


def exactly(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError("peer went away")
        data += part
    return data


def write(connection, thing):
    data = pickle.dumps(thing)
    connection.sendall(struct.pack("!I", len(data)) + data)


class Reward(socketserver.BaseRequestHandler):
    """Scores answers."""

    def handle(self):
        while True:
            try:
                answers = read(self.request)
            except EOFError:
                return
            scores = []
            for answer in answers:
                score = sum(byte for byte in answer) % 97 / 97
                scores.append(score)
            time.sleep(0.08)
            write(self.request, scores)


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


def trainer(path, rank, steps):
    """Generate, ask, learn."""
    while not path.exists():
        time.sleep(0.1)
    time.sleep(0.2)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    baseline = 0.5
    for step in range(steps):
        answers = [os.urandom(64) for _ in range(8)]
        time.sleep(0.12)
        write(connection, answers)
        scores = read(connection)
        mean = sum(scores) / len(scores)
        baseline = 0.95 * baseline + 0.05 * mean
        advantage = mean - baseline
        print(f"(rank={rank}) grpo_step:{step} reward/mean:{mean:.3f} adv:{advantage:+.3f} kl:{abs(advantage):.3f}", flush=True)
    connection.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--trainer", type=int)
    given = parser.parse_args()
    path = given.folder / "reward.sock"
    if given.trainer is not None:
        trainer(path, given.trainer, given.steps)
        return
    pid = os.fork()
    if pid == 0:
        Server(str(path), Reward).serve_forever()
    argv = [sys.executable, __file__, "--folder", str(given.folder), "--steps", str(given.steps)]
    trainers = [subprocess.Popen([*argv, "--trainer", str(index)]) for index in range(TRAINERS)]
    codes = [process.wait() for process in trainers]
    os.kill(pid, 15)
    print("reward server stopped; trainers returned", codes, flush=True)
    sys.exit(1 if any(codes) else 0)


if __name__ == "__main__":
    main()
