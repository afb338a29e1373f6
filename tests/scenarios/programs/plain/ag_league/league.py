"""Three players of Nim play each other's copies; the league collects their results each round and sends them the new table."""

import os
import random
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection

ROUNDS = 40


def nim(rng: random.Random, skill: float) -> bool:
    """One game; whether the player won."""
    stones, turn = 21, 0
    while stones > 0:
        best = (stones - 1) % 4
        good = turn == 1 or rng.random() < skill
        stones -= best if best and good else rng.randint(1, min(3, stones))
        turn ^= 1
    return turn == 1


def player(number: int, wire: Connection) -> None:
    rng = random.Random(number)
    print(f"player {number} pid {os.getpid()}", flush=True)
    while True:
        order = wire.recv()
        if order is None:
            return
        turn, skill = order
        won = 0
        for _ in range(30):
            won += nim(rng, skill)
            time.sleep(0.01)
        wire.send((turn, won / 30))


def main() -> None:
    print(f"league pid {os.getpid()}, 3 players, {ROUNDS} rounds", flush=True)
    spawn = get_context("spawn")
    wires = []
    for number in range(3):
        ours, theirs = spawn.Pipe()
        spawn.Process(target=player, args=(number, theirs), daemon=True).start()
        wires.append(ours)
    skills = [0.3, 0.3, 0.3]
    for turn in range(1, ROUNDS + 1):
        for wire, skill in zip(wires, skills, strict=True):
            wire.send((turn, skill))
        rates = []
        for wire in wires:
            answered, rate = wire.recv()
            assert answered == turn
            rates.append(rate)
        skills = [min(0.95, skill + 0.02 * rate) for skill, rate in zip(skills, rates, strict=True)]
        print(f"round {turn:2d}/{ROUNDS}  win rates " + "  ".join(f"{rate:.2f}" for rate in rates), flush=True)
    for wire in wires:
        wire.send(None)
    print("league over", flush=True)


if __name__ == "__main__":
    main()
