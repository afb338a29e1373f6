"""Environments in processes of their own, stepped together through pipes, as in the usual PPO code bases."""

import multiprocessing as mp
import os
import random
import signal
import time
from multiprocessing.connection import Connection


class Maze:
    """A square of random walls; a new one each few episodes, dug until it has a long way through."""

    def __init__(self, seed: int, size: int = 21) -> None:
        self.rng, self.size, self.episodes = random.Random(seed), size, 0
        self.walls: set[tuple[int, int]] = set()
        self.place, self.steps = (0, 0), 0

    def reset(self, hard: bool = False) -> list[float]:
        if self.episodes % 3 == 0 or hard:
            self.dig(0.62 if hard else 0.2)
        self.episodes, self.place, self.steps = self.episodes + 1, (0, 0), 0
        return self.see()

    def dig(self, share: float) -> None:
        """Until the far corner can be reached; gives up the search for a dense one after a while."""
        ends = time.monotonic() + 45
        while True:
            cells = [(x, y) for x in range(self.size) for y in range(self.size) if x + y]
            self.walls = {cell for cell in cells if self.rng.random() < share} - {(self.size - 1, self.size - 1)}
            if self.reaches() or time.monotonic() > ends:
                return

    def reaches(self) -> bool:
        seen, border = {(0, 0)}, [(0, 0)]
        while border:
            x, y = border.pop()
            for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                if near not in seen and near not in self.walls and 0 <= min(near) and max(near) < self.size:
                    seen.add(near)
                    border.append(near)
        return (self.size - 1, self.size - 1) in seen

    def step(self, action: int) -> tuple[list[float], float, bool]:
        dx, dy = ((1, 0), (0, 1), (-1, 0), (0, -1))[action]
        to = (self.place[0] + dx, self.place[1] + dy)
        self.steps += 1
        if to not in self.walls and 0 <= min(to) and max(to) < self.size:
            self.place = to
        won = self.place == (self.size - 1, self.size - 1)
        return self.see(), 1.0 if won else -0.01, won or self.steps >= 120

    def see(self) -> list[float]:
        x, y = self.place
        return [x / self.size, y / self.size, *(float((x + dx, y + dy) in self.walls) for dx in (-1, 0, 1) for dy in (-1, 0, 1))]


def worker(index: int, remote: Connection) -> None:
    """Answers what it is asked, until it is told to close."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    env = Maze(index)
    print(f"env worker {index} started, pid {os.getpid()}", flush=True)
    while True:
        command, value = remote.recv()
        if command == "step":
            seen, reward, done = env.step(value)
            remote.send((env.reset() if done else seen, reward, done))
        elif command == "reset":
            remote.send(env.reset(hard=value))
        elif command == "close":
            return


class SubprocVecEnv:
    """All of them as one."""

    def __init__(self, count: int) -> None:
        context = mp.get_context("fork")
        pipes = [context.Pipe() for _ in range(count)]
        self.remotes = [ours for ours, _ in pipes]
        self.processes = [
            context.Process(target=worker, args=(index, theirs), daemon=True) for index, (_, theirs) in enumerate(pipes)
        ]
        for process in self.processes:
            process.start()

    def reset(self, hard: int | None = None) -> list[list[float]]:
        for index, remote in enumerate(self.remotes):
            remote.send(("reset", index == hard))
        return [remote.recv() for remote in self.remotes]

    def step(self, actions: list[int]) -> list[tuple[list[float], float, bool]]:
        for remote, action in zip(self.remotes, actions, strict=True):
            remote.send(("step", action))
        return [remote.recv() for remote in self.remotes]

    def close(self) -> None:
        for remote in self.remotes:
            remote.send(("close", None))
        for process in self.processes:
            process.join()
