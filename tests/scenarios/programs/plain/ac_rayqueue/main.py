"""Rollouts and a learner on Ray, apart from each other: a queue of batches lies between them; the driver looks every few seconds."""

import os
import time

import numpy as np
import ray
from ray.util.queue import Queue


@ray.remote(num_cpus=0.5)
class Rollout:
    def __init__(self, number, queue):
        self.rng, self.number, self.queue = np.random.default_rng(number), number, queue

    def play(self, games):
        for game in range(games):
            length = int(self.rng.integers(4, 12)) if (self.number, game) != (1, 20) else 0
            self.queue.put((self.number, game, self.rng.standard_normal((length, 16))))
            time.sleep(0.1)
        return self.number


@ray.remote(num_cpus=0.5)
class Learner:
    def __init__(self, queue):
        self.queue, self.weights, self.steps = queue, np.zeros(16), 0

    def learn(self):
        while True:
            number, game, states = self.queue.get()
            best = states[np.argmax(states @ self.weights)]
            self.weights += 0.01 * (best - self.weights)
            self.steps += 1
            print(f"learn step {self.steps} from rollout {number} game {game} norm {np.linalg.norm(self.weights):.4f}", flush=True)


def main():
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    queue = Queue(maxsize=8)
    learner = Learner.remote(queue)
    rollouts = [Rollout.remote(number, queue) for number in range(2)]
    running = learner.learn.remote()
    playing = [rollout.play.remote(400) for rollout in rollouts]
    print(f"driver {os.getpid()}: two rollouts, one learner", flush=True)
    while playing:
        _, playing = ray.wait(playing, timeout=60)
    ray.cancel(running)


if __name__ == "__main__":
    main()
