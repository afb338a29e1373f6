"""Student and teacher distil into each other; each is an actor that answers one call after the other."""

import os
import time

import ray

STEPS, EXCHANGE = 100, 15


@ray.remote(num_cpus=0)
class Model:
    def __init__(self, name):
        self.name, self.weight, self.other = name, 1.0 if name == "teacher" else 0.0, None
        print(f"{name}: pid {os.getpid()}", flush=True)

    def meet(self, other):
        self.other = other

    def logits(self, step):
        return self.weight * step % 7

    def train(self, step):
        if step % EXCHANGE == 0:
            target = ray.get(self.other.logits.remote(step))
            self.weight += 0.1 * (target - self.weight)
        time.sleep(0.2)
        self.weight *= 0.99
        return self.weight


ray.init(num_cpus=2, include_dashboard=False)
print(f"driver: pid {os.getpid()}", flush=True)
student, teacher = Model.remote("student"), Model.remote("teacher")
ray.get([student.meet.remote(teacher), teacher.meet.remote(student)])
for step in range(1, STEPS + 1):
    weights = ray.get([student.train.remote(step), teacher.train.remote(step)])
    print(f"step {step}/{STEPS} weights {weights[0]:.4f} {weights[1]:.4f}", flush=True)
