"""Training on one placement group, evaluation on a second one that is asked for when it is needed."""

import os
import time

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

STEPS, EVERY = 100, 12


@ray.remote(num_cpus=1)
class Worker:
    def __init__(self, number):
        self.weight = float(number)
        print(f"worker {number}: pid {os.getpid()}", flush=True)

    def step(self, number):
        time.sleep(0.2)
        self.weight = 0.95 * self.weight + number % 3
        return self.weight


ray.init(num_cpus=3, include_dashboard=False)
print(f"driver: pid {os.getpid()}", flush=True)
train = placement_group([{"CPU": 1}] * 2, strategy="PACK")
ray.get(train.ready())
workers = [Worker.options(scheduling_strategy=PlacementGroupSchedulingStrategy(train)).remote(n) for n in range(2)]
for step in range(1, STEPS + 1):
    weights = ray.get([worker.step.remote(step) for worker in workers])
    print(f"step {step}/{STEPS} weights {weights}", flush=True)
    if step % EVERY == 0:
        evaluation = placement_group([{"CPU": 1}] * 2, strategy="PACK")
        ray.get(evaluation.ready())
        judge = Worker.options(scheduling_strategy=PlacementGroupSchedulingStrategy(evaluation)).remote(9)
        print(f"evaluation at {step}: {ray.get(judge.step.remote(step)):.3f}", flush=True)
