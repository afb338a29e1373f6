"""Self-play on Ray: three collectors put games into a queue, the learner fits a value to what they put there."""

import os
import random
import time

import ray
from ray.util.queue import Queue

ROOM = 0
FIRST, MORE = 4, 2


@ray.remote
class Collector:
    def __init__(self, number):
        self.number, self.numbers = number, random.Random(number)

    def where(self):
        return os.getpid()

    def collect(self, queue, games, value):
        for _ in range(games):
            stones, first = 21, True
            while stones > 0:
                stones -= self.numbers.randint(1, 3) if self.numbers.random() > value else stones % 4 or 1
                first = not first
            time.sleep(0.01)
            queue.put((self.number, float(first)))
        return games


def main():
    ray.init(num_cpus=4, include_dashboard=False)
    print(f"learner: pid {os.getpid()}", flush=True)
    queue = Queue(maxsize=ROOM, actor_options={"num_cpus": 0})
    collectors = [Collector.remote(number) for number in range(3)]
    for number, collector in enumerate(collectors):
        print(f"collector {number}: pid {ray.get(collector.where.remote())}", flush=True)
    value = 0.1
    for round_ in range(1, 1000):
        games = FIRST + MORE * round_
        ray.get([collector.collect.remote(queue, games, value) for collector in collectors])
        won = []
        while not queue.empty():
            won.append(queue.get()[1])
        value += 0.05 * (sum(won) / len(won) - value)
        print(f"round {round_}: {len(won)} games, value {value:.4f}", flush=True)


main()
