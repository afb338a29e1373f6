"""A learner and its simulators over pipes; a simulator that is gone is replaced, and gets its maps again."""

import heapq
import multiprocessing as mp
import os
import random
import signal
import time

SIMULATORS, UPDATES = 3, 200
OUT_OF_MEMORY = {(2, 9)}
"""The limit of the machine meets this one at this request."""


def field(size, seed):
    """The distances from a corner of a map to the places on its diagonal."""
    draw = random.Random(seed)
    cost = [[draw.random() for _ in range(size)] for _ in range(size)]
    best, heap = {(0, 0): 0.0}, [(0.0, 0, 0)]
    while heap:
        far, i, j = heapq.heappop(heap)
        if far > best[i, j]:
            continue
        for u, v in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
            if 0 <= u < size and 0 <= v < size and far + cost[u][v] < best.get((u, v), 1e9):
                best[u, v] = far + cost[u][v]
                heapq.heappush(heap, (far + cost[u][v], u, v))
    return [best[at, at] for at in range(size)]


def simulator(number, pipe, maps, size):
    print(f"simulator {number}: pid {os.getpid()}, {maps} maps", flush=True)
    fields = [field(size, 10 * number + each) for each in range(maps)]
    requests = 0
    while True:
        policy = pipe.recv()
        requests += 1
        if maps == 1 and (number, requests) in OUT_OF_MEMORY:
            os.kill(os.getpid(), signal.SIGKILL)
        at = random.Random(policy).randrange(size)
        pipe.send(fields[requests % maps][at])


def start(number, maps=1, size=40):
    ours, theirs = mp.Pipe()
    process = mp.Process(target=simulator, args=(number, theirs, maps, size), daemon=True)
    process.start()
    theirs.close()
    return process, ours


if __name__ == "__main__":
    mp.set_start_method("spawn")
    print(f"learner: pid {os.getpid()}", flush=True)
    fleet = [start(number) for number in range(SIMULATORS)]
    value = 0.0
    for update in range(1, UPDATES + 1):
        for _, pipe in fleet:
            pipe.send(update)
        for number in range(SIMULATORS):
            try:
                value = 0.9 * value + 0.1 * fleet[number][1].recv()
            except EOFError:
                process = fleet[number][0]
                process.join()
                print(f"ERROR simulator {number} (pid {process.pid}) was killed, code {process.exitcode}; starting another", flush=True)
                fleet[number] = start(number, maps=18, size=600)
                fleet[number][1].send(update)
                value = 0.9 * value + 0.1 * fleet[number][1].recv()
        print(f"update {update}/{UPDATES} value {value:.4f}", flush=True)
        time.sleep(0.3)
