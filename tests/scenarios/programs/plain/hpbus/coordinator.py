"""Gives trials to workers and asks for the next generation when all scores are there."""

import json
import os
import random
import socket
import time
from pathlib import Path

WORKERS, GENERATIONS, BASE = 3, 40, 6

bus = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
bus.bind("bus/coordinator")
bus.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 9000)
while len(list(Path("bus").iterdir())) < WORKERS + 1:
    time.sleep(0.1)
print(f"coordinator pid {os.getpid()}, {WORKERS} workers", flush=True)
source = random.Random(2)


def give(worker, trial):
    bus.setblocking(False)
    try:
        bus.sendto(json.dumps(trial).encode(), f"bus/worker-{worker}")
    except BlockingIOError:
        return False
    finally:
        bus.setblocking(True)
    return True


centre = [0.0] * 12
for generation in range(1, GENERATIONS + 1):
    size = BASE + 3 * generation
    trials = {k: [x + source.gauss(0, 0.5) for x in centre] for k in range(size)}
    for k, point in trials.items():
        give(k % WORKERS, {"trial": k, "point": point})
    scores = {}
    while len(scores) < size:
        answer = json.loads(bus.recv(65536))
        scores[answer["trial"]] = answer["score"]
    best = sorted(scores, key=scores.get)[: size // 3]
    centre = [sum(trials[k][i] for k in best) / len(best) for i in range(12)]
    print(f"generation {generation}/{GENERATIONS}: {size} trials, best {min(scores.values()):.4f}", flush=True)
print("search finished", flush=True)
