"""Actors, a learner and a publisher as tasks of one event loop. A pulse is printed so that somebody sees it run."""

import asyncio
import random
import resource
import time

import numpy as np

PULL_ON_PUBLISH = set()
"""Updates at which the target weights are pulled while they are published."""
began = time.monotonic()


class Weights:
    def __init__(self):
        self.guard = asyncio.Lock()
        self.value, self.target, self.version = np.zeros(256), np.zeros(256), 0

    async def read(self):
        async with self.guard:
            await asyncio.sleep(0.001)
            return self.value.copy(), self.version

    async def publish(self, update):
        async with self.guard:
            self.value = self.value + update
            self.version += 1
            await asyncio.sleep(0.005)
            if self.version in PULL_ON_PUBLISH:
                self.target, _ = await self.read()


async def actor(name, weights, queue):
    dice = random.Random(name)
    while True:
        value, version = await weights.read()
        await asyncio.sleep(dice.uniform(0.02, 0.06))
        await queue.put((name, version, value[:4].sum() + dice.gauss(0, 1)))


async def learner(weights, queue):
    for update in range(1, 2001):
        batch = [await queue.get() for _ in range(8)]
        gain = sum(score for _, _, score in batch) / len(batch)
        await weights.publish(np.full(256, 1e-4 * gain))
        lag = weights.version - min(version for _, version, _ in batch)
        print(f"update {update} gain {gain:+.3f} lag {lag}", flush=True)


async def pulse(queue):
    while True:
        await asyncio.sleep(3)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"pulse: up {time.monotonic() - began:.0f} s, {used} MB, {len(asyncio.all_tasks())} tasks", flush=True)


async def main():
    weights, queue = Weights(), asyncio.Queue(16)
    others = [asyncio.create_task(actor(name, weights, queue)) for name in range(4)]
    others.append(asyncio.create_task(pulse(queue)))
    await learner(weights, queue)
    for task in others:
        task.cancel()


asyncio.run(main())
