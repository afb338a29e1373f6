"""Two rollout actors and a buffer of Ray; whoever is lost is waited for until he is back."""

import logging
import os
import sys
import time

import numpy as np
import ray

RESTARTS = int(os.environ.get("RESTARTS", "0"))
log = logging.getLogger("learner")


@ray.remote(num_cpus=0.2, max_restarts=RESTARTS)
class Rollout:
    def __init__(self, number: int, warm_s: float) -> None:
        again = ray.get_runtime_context().was_current_actor_reconstructed
        print(f"rollout-{number} pid {os.getpid()} warms its arenas", flush=True)
        time.sleep(warm_s * (15 if again else 1))
        self.rng, self.number, self.calls = np.random.default_rng(number), number, 0
        self.again = again

    def play(self, level: float) -> float:
        self.calls += 1
        time.sleep(0.25)
        return float(self.rng.normal(level, 0.1))

    def ping(self) -> int:
        return self.number


@ray.remote(num_cpus=0.1)
class Buffer:
    def __init__(self) -> None:
        self.returns: list[float] = []

    def add(self, values: list[float]) -> int:
        self.returns = (self.returns + values)[-64:]
        return len(self.returns)

    def mean(self) -> float:
        return float(np.mean(self.returns))


def back(number: int) -> bool:
    """Whether this actor answers."""
    try:
        ray.get(ray.get_actor(f"rollout-{number}").ping.remote(), timeout=5)
    except (ray.exceptions.RayError, ValueError):
        return False
    return True


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", stream=sys.stdout)
    ray.init(num_cpus=2, include_dashboard=False, logging_level="warning")
    crew = [Rollout.options(name=f"rollout-{number}").remote(number, 2.0) for number in (1, 2)]
    buffer, level = Buffer.remote(), 0.0
    for iteration in range(1, 61):
        try:
            values = ray.get([one.play.remote(level) for one in crew])
        except ray.exceptions.RayActorError:
            log.warning("iteration %d: an actor is lost, waiting until all are back", iteration)
            while not all(back(number) for number in (1, 2)):
                time.sleep(2)
            log.info("all back")
            continue
        held = ray.get(buffer.add.remote(values))
        level += 0.01 * (ray.get(buffer.mean.remote()) + 1)
        log.info("iteration %d level %.3f buffer %d", iteration, level, held)
    ray.shutdown()


if __name__ == "__main__":
    main()
