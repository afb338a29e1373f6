"""An actor: plays with the weights it last saw, and puts whole trajectories into the queue."""

import os
import random
import time
from multiprocessing.queues import Queue
from multiprocessing.sharedctypes import SynchronizedArray
from multiprocessing.synchronize import Event

Step = tuple[list[float], int, float]
UNROLL = 80


def act(number: int, out: "Queue[list[Step]]", weights: "SynchronizedArray[float]", stop: Event) -> None:
    rng = random.Random(number)
    print(f"[actor {number}] pid {os.getpid()} up", flush=True)
    frames = 0
    while not stop.is_set():
        bias = weights[:]
        trajectory: list[Step] = []
        for _ in range(UNROLL):
            seen = [rng.gauss(0, 1) for _ in range(12)]
            action = int(sum(value * weight for value, weight in zip(seen, bias, strict=True)) + rng.gauss(0, 0.5) > 0)
            trajectory.append((seen, action, 1.0 if action == (seen[0] + seen[1] > 0) else 0.0))
        time.sleep(0.05 + 0.02 * number)
        out.put(trajectory)
        frames += UNROLL
    print(f"[actor {number}] leaves after {frames} frames", flush=True)
