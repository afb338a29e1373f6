"""An actor: a pendulum in real time, which cannot be hurried; what it saw goes into the replay a piece at a time."""

import math
import os
import random
import time
from multiprocessing.synchronize import Lock

from replay import Replay

TICK_S = 0.02
PIECE = 25


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def act(number: int, name: str, capacity: int, lock: Lock) -> None:
    replay, rng = Replay(name, capacity, lock), random.Random(number)
    say(f"actor {number} | pid {os.getpid()}")
    episode = 0
    while True:
        angle, speed, total = math.pi, 0.0, 0.0
        rows: list[tuple[float, float, int, float, int]] = []
        for tick in range(250):
            push = rng.choice((-1, 0, 1))
            time.sleep(TICK_S)
            speed += 0.05 * (push - 9.8 * math.sin(angle) / 10)
            angle += 0.05 * speed
            reward = -abs(math.cos(angle / 2))
            total += reward
            rows.append((angle, speed, push, reward, number * 1_000_000 + tick))
            if len(rows) == PIECE:
                replay.add(rows)
                rows = []
        episode += 1
        if episode % 4 == 0:
            say(f"actor {number} | episode {episode} return {total:.1f}")
