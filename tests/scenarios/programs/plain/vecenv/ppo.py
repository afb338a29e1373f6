"""PPO on a vector of environments, each in a process behind a pipe."""

import multiprocessing as mp
import os
import random
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

LEAK_AT = int(os.environ.get("LEAK_AT", "0"))


class Walker:
    """An environment that keeps too much."""

    def __init__(self, number: int) -> None:
        self.number, self.steps, self.rng = number, 0, random.Random(number)

    def step(self, action: float) -> tuple[float, float, bool]:
        self.steps += 1
        if self.number == 2 and LEAK_AT and self.steps == LEAK_AT:
            os.kill(os.getpid(), signal.SIGKILL)  # what the kernel does when the memory of the machine is at its end
        time.sleep(0.002)
        return self.rng.random(), action * self.rng.random(), self.steps % 200 == 0


def worker(pipe: Connection, number: int) -> None:
    env = Walker(number)
    print(f"env {number}: pid {os.getpid()}", flush=True)
    while True:
        command, data = pipe.recv()
        if command == "step":
            pipe.send(env.step(data))
        else:
            break


class VecEnv:
    """All of them as one."""

    def __init__(self, count: int) -> None:
        pairs = [mp.Pipe() for _ in range(count)]
        self.pipes: list[Connection[Any, Any]] = [ours for ours, _ in pairs]
        for number, (_, theirs) in enumerate(pairs):
            mp.Process(target=worker, args=(theirs, number), daemon=True).start()

    def step(self, actions: list[float]) -> list[tuple[float, float, bool]]:
        for pipe, action in zip(self.pipes, actions, strict=True):
            pipe.send(("step", action))
        return [pipe.recv() for pipe in self.pipes]


def main() -> None:
    envs = VecEnv(4)
    actions, total = [0.0] * 4, 0
    for update in range(1, 501):
        returns = 0.0
        for _ in range(64):
            answers = envs.step(actions)
            actions = [random.gauss(state, 0.1) for state, _, _ in answers]
            returns += sum(reward for _, reward, _ in answers)
            total += 4
        print(f"| update {update:>4} | timesteps {total:>7} | ep_rew_mean {returns / 4:8.3f} |", flush=True)


if __name__ == "__main__":
    mp.set_start_method("fork")
    main()
