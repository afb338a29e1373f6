"""A small league: in each generation four actors play a game each, then the trainer makes new weights."""

import multiprocessing as mp
import os
import random
from multiprocessing.synchronize import Condition

ACTORS = 4


def best(piles: tuple[int, ...], left: int) -> int:
    """How often the first player can win a game of piles, looking `left` moves ahead, without a table."""
    if not left or not any(piles):
        return 0 if any(piles) else 1
    wins = 0
    for index, pile in enumerate(piles):
        for take in range(1, min(pile, 3) + 1):
            wins += not best((*piles[:index], pile - take, *piles[index + 1 :]), left - 1)
    return wins


def play(number: int, generation: int) -> float:
    """One game; the champion plays three deep ones when it defends its title."""
    rng = random.Random(generation * 10 + number)
    defends = number == 2 and generation % 20 == 10
    values = [best(tuple(rng.randint(3, 5) for _ in range(4)), 8 if defends else 5) for _ in range(3 if defends else 1)]
    return sum(values) / len(values)


def act(number: int, weights: Condition, version: "mp.sharedctypes.Synchronized[int]", games: "mp.Queue[tuple[int, float]]") -> None:
    print(f"actor {number}: pid {os.getpid()}", flush=True)
    for generation in range(1, 40):
        with weights:
            weights.wait_for(lambda: version.value >= generation)
        games.put((number, play(number, generation)))


def main() -> None:
    weights, version, games = mp.Condition(), mp.Value("i", 0), mp.Queue()
    for number in range(ACTORS):
        mp.Process(target=act, args=(number, weights, version, games), daemon=True).start()
    print(f"trainer: pid {os.getpid()}, waits for all {ACTORS} games of a generation", flush=True)
    for generation in range(1, 40):
        with weights:
            version.value = generation
            weights.notify_all()
        values = [games.get()[1] for _ in range(ACTORS)]
        print(f"trainer: generation {generation} mean {sum(values) / ACTORS:.2f}", flush=True)


if __name__ == "__main__":
    main()
