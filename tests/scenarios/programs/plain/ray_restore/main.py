"""A replay actor that may be lost and is built again from its files, and a learner that samples from it."""

import os
import time
from pathlib import Path

import ray

STEPS = 60
Path("segments").mkdir(exist_ok=True)


@ray.remote(num_cpus=0, max_restarts=3, max_task_retries=3)
class Replay:
    def __init__(self, home):
        self.home = home
        first = not os.path.exists(f"{home}/segments/seen")
        print(f"replay: pid {os.getpid()}, {'empty' if first else 'building the index from segments'}", flush=True)
        Path(f"{home}/segments/seen").touch()
        self.index = self.sieve(2_000 if first else 400_000)

    def sieve(self, count):
        """Numbers of the items that no earlier item repeats."""
        kept = []
        for number in range(2, count):
            if not any(number % other == 0 for other in kept):
                kept.append(number)
        return kept

    def sample(self, step):
        fuse = f"{self.home}/segments/step{step}"
        if step == 12 and not os.path.exists(fuse):
            Path(fuse).touch()
            os._exit(137)
        return sum(self.index[step :: 17]) % 1000


@ray.remote(num_cpus=1)
class Learner:
    def __init__(self, replay):
        print(f"learner: pid {os.getpid()}", flush=True)
        self.replay, self.weight = replay, 0.0

    def update(self, step):
        batch = ray.get(self.replay.sample.remote(step))
        self.weight = 0.9 * self.weight + 0.1 * batch
        return self.weight


ray.init(num_cpus=2, include_dashboard=False)
replay = Replay.remote(os.getcwd())
learner = Learner.remote(replay)
for step in range(1, STEPS + 1):
    weight = ray.get(learner.update.remote(step))
    print(f"step {step}/{STEPS} weight {weight:.3f}", flush=True)
    time.sleep(0.3)
