"""A learner that draws from a prioritised buffer; both are actors."""

import os
import random
import time

import ray


@ray.remote(num_cpus=0.5)
class Buffer:
    def __init__(self) -> None:
        self.items = [random.random() for _ in range(400)]
        self.draws = 0
        self.learner = None

    def pid(self) -> int:
        return os.getpid()

    def attach(self, learner) -> None:
        self.learner = learner

    def draw(self) -> list[float]:
        self.draws += 1
        if self.draws % 24 == 0:
            keep = ray.get(self.learner.threshold.remote())
            self.items = [item for item in self.items if item > keep] or self.items
        return random.sample(self.items, 16)


@ray.remote(num_cpus=0.5)
class Learner:
    def __init__(self, buffer) -> None:
        self.buffer, self.value = buffer, 0.0

    def pid(self) -> int:
        return os.getpid()

    def threshold(self) -> float:
        return self.value / 2

    def train(self) -> float:
        time.sleep(0.2)
        batch = ray.get(self.buffer.draw.remote())
        self.value += 0.1 * (sum(batch) / len(batch) - self.value)
        return self.value


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, logging_level="warning")
    buffer = Buffer.remote()
    learner = Learner.remote(buffer)
    ray.get(buffer.attach.remote(learner))
    print(f"driver {os.getpid()}, buffer {ray.get(buffer.pid.remote())}, learner {ray.get(learner.pid.remote())}", flush=True)
    for step in range(200):
        value = ray.get(learner.train.remote())
        print(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} train_step={step} value={value:.4f}", flush=True)


if __name__ == "__main__":
    main()
