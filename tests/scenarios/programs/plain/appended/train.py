"""Two processes with a pipe between them: one trains, one holds the validation set and plays all games of it."""

import os
import random
import time
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection


def game(seed: int) -> int:
    rng, place = random.Random(seed), 0
    for _ in range(3000):
        place += rng.choice((-1, 1, 1, -1, 0))
    return place


def evaluator(link: Connection) -> None:
    while True:
        games, seed = link.recv()
        wins = 0
        for number in range(games):
            wins += game(seed + number) > 0
            if number % 400 == 399:
                time.sleep(0.05)
        link.send(wins / games)


def main() -> None:
    here, there = Pipe()
    Process(target=evaluator, args=(there,), daemon=True).start()
    print(f"pid {os.getpid()}: resuming from checkpoints/step_40.json", flush=True)
    for step in range(41, 81):
        time.sleep(0.2)
        print(f"step {step}/80 loss {3 / step:.4f}", flush=True)
        if step % 20 == 0:
            here.send((22000, step))
            print(f"validation: win rate {here.recv():.3f}", flush=True)


main()
