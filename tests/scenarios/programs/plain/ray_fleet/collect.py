"""A driver, three actors that search, and a policy that learns from what they find."""

import os
import random
import time

import ray

ROUNDS = 60
DEEP = {(1, 9): 16}
"""Actor and round of a start position that needs a deeper search."""


@ray.remote(num_cpus=0, max_restarts=2, max_task_retries=3)
class Searcher:
    def __init__(self, number):
        self.number = number
        print(f"searcher {number}: pid {os.getpid()}", flush=True)
        self.book = {}

    def episode(self, round_, policy):
        draw = random.Random(100 * self.number + round_)
        depth = DEEP.get((self.number, round_), 6)
        return self.best(draw.random(), depth, policy)

    def best(self, state, depth, policy):
        if depth == 0:
            return abs(state - policy)
        return max(-self.best((state * k + 0.37) % 1.0, depth - 1, policy) for k in (3.1, 5.7, 7.3))


ray.init(num_cpus=2, include_dashboard=False)
print(f"driver: pid {os.getpid()}", flush=True)
searchers = [Searcher.remote(number) for number in range(3)]
policy = 0.5
for round_ in range(1, ROUNDS + 1):
    waiting = [searcher.episode.remote(round_, policy) for searcher in searchers]
    while waiting:
        done, waiting = ray.wait(waiting)
        policy += 0.01 * ray.get(done[0])
    print(f"round {round_}/{ROUNDS} policy {policy:.4f}", flush=True)
    time.sleep(0.3)
