"""Q learning from a replay that three actors fill. The learner is never ahead of the actors: an update for each 20 new transitions,
and after each phase it throws the replay away and waits until there is enough of the new policy."""

import json
import multiprocessing as mp
import os
import random
import time
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

from actor import act, say
from replay import Replay, size

ACTORS, CAPACITY = 3, 50_000
FRESH = 7_500
"""Transitions before the first update of a phase."""
PHASE = 60
UPDATES = 600


def update(table: dict[tuple[int, int, int], float], replay: Replay, first: int, rng: random.Random) -> float:
    """A batch; returns the mean error."""
    head = replay.added()
    places = [rng.randrange(first, head) % CAPACITY for _ in range(64)]
    error = 0.0
    for angle, speed, push, reward, _ in replay.sample(places):
        key = (round(angle * 4), round(speed * 4), push)
        best = max(table.get((key[0], key[1], other), 0.0) for other in (-1, 0, 1))
        change = reward + 0.95 * best - table.get(key, 0.0)
        table[key] = table.get(key, 0.0) + 0.1 * change
        error += abs(change) / 64
    return error


def main() -> None:
    memory = SharedMemory(create=True, size=size(CAPACITY))
    context = mp.get_context("spawn")
    lock = context.Lock()
    actors = [context.Process(target=act, args=(number, memory.name, CAPACITY, lock)) for number in range(ACTORS)]
    for one in actors:
        one.start()
    replay, rng = Replay(memory.name, CAPACITY, lock), random.Random(0)
    table: dict[tuple[int, int, int], float] = {}
    say(f"learner | pid {os.getpid()} | replay of {CAPACITY} in {memory.name}")
    first, wanted = 0, 200
    for number in range(1, UPDATES + 1):
        while replay.added() < wanted:
            time.sleep(0.05)
        error = update(table, replay, first, rng)
        wanted = replay.added() + 20
        if number % 5 == 0:
            say(f"learner | update {number}/{UPDATES} | error {error:.4f} | keys {len(table)} | seen {replay.added()}")
        if number % PHASE == 0:
            Path(f"q_{number}.json").write_text(json.dumps([[*key, value] for key, value in table.items()]))
            first = replay.added()
            wanted = first + FRESH
            say(f"learner | phase done, saved q_{number}.json; collecting {FRESH} transitions")
    for one in actors:
        one.terminate()
        one.join()
    memory.close()
    memory.unlink()


if __name__ == "__main__":
    main()
