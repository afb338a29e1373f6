"""IMPALA in small: actors put trajectories into a queue, the learner takes a batch of them, and the weights lie in shared memory."""

import argparse
import json
import multiprocessing as mp
import os
import queue
import random
import time
from collections.abc import Sequence
from multiprocessing.queues import Queue
from multiprocessing.sharedctypes import SynchronizedArray
from pathlib import Path

from actor import Step, act

BATCH = 4


def learn(batch: list[list[Step]], weights: "SynchronizedArray[float]") -> float:
    """Towards the actions that were rewarded; returns the mean reward."""
    rows = [row for trajectory in batch for row in trajectory]
    for seen, action, reward in rows:
        for index, value in enumerate(seen):
            weights[index] += 0.002 * (reward - 0.5) * (1 if action else -1) * value
    return sum(reward for _, _, reward in rows) / len(rows)


def evaluate(weights: list[float], seconds: float) -> tuple[float, int]:
    """As many steps as fit into the time that the benchmark allows."""
    rng, ends, right, count = random.Random(99), time.monotonic() + seconds, 0, 0
    while time.monotonic() < ends:
        seen = [rng.gauss(0, 1) for _ in weights]
        right += (sum(value * weight for value, weight in zip(seen, weights, strict=True)) > 0) == (seen[0] + seen[1] > 0)
        count += 1
    return right / count, count


def drain(trajectories: "Queue[list[Step]]", actors: Sequence[mp.process.BaseProcess]) -> None:
    """Actors cannot leave before somebody has taken what they have put."""
    while any(actor.is_alive() for actor in actors):
        try:
            trajectories.get(timeout=0.2)
        except queue.Empty:
            continue


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--actors", type=int, default=4)
    parser.add_argument("--updates", type=int, default=120)
    parser.add_argument("--benchmark", type=float, default=50.0, help="seconds of the evaluation at the end")
    given = parser.parse_args()
    context = mp.get_context("spawn")
    trajectories: Queue[list[Step]] = context.Queue(maxsize=32)
    weights, stop = context.Array("d", 12), context.Event()
    actors = [context.Process(target=act, args=(number, trajectories, weights, stop)) for number in range(given.actors)]
    for actor in actors:
        actor.start()
    print(f"[learner] pid {os.getpid()}, {given.actors} actors", flush=True)
    for update in range(1, given.updates + 1):
        mean = learn([trajectories.get() for _ in range(BATCH)], weights)
        time.sleep(0.15)
        print(f"[learner] update {update}/{given.updates} reward {mean:.4f} queue {trajectories.qsize()}", flush=True)
        if update % 40 == 0:
            Path(f"weights_{update}.json").write_text(json.dumps(weights[:]))
    print(f"[learner] {given.updates} updates done, stopping the actors", flush=True)
    stop.set()
    drain(trajectories, actors)
    for actor in actors:
        actor.join()
    print("[learner] actors have left; final evaluation", flush=True)
    score, steps = evaluate(weights[:], given.benchmark)
    Path("final.json").write_text(json.dumps({"score": score, "weights": weights[:]}))
    print(f"[learner] final score {score:.4f} in {steps} steps, saved final.json", flush=True)


if __name__ == "__main__":
    main()
