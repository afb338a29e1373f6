"""IMPALA in small: four spawned actors play against an environment server each, the learner takes one trajectory of each."""

import multiprocessing as mp
import os
import time
from multiprocessing.queues import Queue

import client


def act(number: int, out: "Queue[list[float]]") -> None:
    game = client.Game(number)
    print(f"actor-{number} pid {os.getpid()} plays on port {game.port}", flush=True)
    while True:
        out.put([game.step(action % 4) for action in range(16)])


def main() -> None:
    context = mp.get_context("spawn")
    queues: list[Queue[list[float]]] = [context.Queue(maxsize=1) for _ in range(4)]
    for number, out in enumerate(queues):
        context.Process(target=act, args=(number, out), name=f"actor-{number}").start()
    value, frames = 0.0, 0
    while frames < 100_000:
        batch = [queue.get() for queue in queues]
        frames += sum(map(len, batch))
        value += 0.1 * (sum(map(sum, batch)) / 64 - value)
        time.sleep(0.1)
        print(f"learner: frames {frames} value {value:.3f}", flush=True)


if __name__ == "__main__":
    main()
