"""Rollouts by a pool of threads, each of which owns an environment process; the trainer takes them in turn."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time
from concurrent.futures import ThreadPoolExecutor

ENVIRONMENTS = 3


def environment(link, seed):
    """Steps on request."""
    generator = random.Random(seed)
    position = 0.0
    while True:
        action = link.recv()
        if action is None:
            break
        position = 0.8 * position + action + generator.gauss(0, 0.1)
        reward = 1.0 - abs(position)
        link.send((position, reward))


def rollout(link, gain):
    """One episode with one environment, in a thread."""
    position, total = 0.0, 0.0
    for _ in range(10):
        action = -gain * position
        link.send(action)
        position, reward = link.recv()
        total += reward
        time.sleep(0.015)
    return total


def train(links, steps):
    """Collect from all, then adapt."""
    gain, previous, direction = 0.1, -1e9, 0.02
    with ThreadPoolExecutor(ENVIRONMENTS, thread_name_prefix="rollout") as pool:
        for update in range(1, steps + 1):
            futures = [pool.submit(rollout, link, gain) for link in links]
            returns = [future.result() for future in futures]
            mean = sum(returns) / len(returns)
            if mean < previous:
                direction = -direction
            previous = mean
            gain += direction
            time.sleep(0.05)
            print("-" * 40, flush=True)
            print(f"| rollout/ep_rew_mean | {mean:8.3f} |", flush=True)
            print(f"| time/iterations     | {update:8d} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    links, processes = [], []
    for number in range(ENVIRONMENTS):
        mine, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=environment, args=(theirs, number), name=f"env-{number}", daemon=True)
        process.start()
        theirs.close()
        links.append(mine)
        processes.append(process)
    train(links, given.steps)
    for link in links:
        link.send(None)
    for process in processes:
        process.join()
    print("Wrapping up: model.zip written", flush=True)


if __name__ == "__main__":
    main()
