"""Self-play for Nim: three actors fill a queue, the learner counts what wins; now and then an arena decides who stays champion."""

import multiprocessing as mp
import random
import time
from multiprocessing.queues import Queue

Game = list[tuple[tuple[int, ...], int, int]]


def play(rng: random.Random, table: dict[tuple[int, ...], float]) -> Game:
    heaps, turn, game = [3, 5, 7], 0, []
    while any(heaps):
        moves = [(heap, take) for heap in range(3) for take in range(1, heaps[heap] + 1)]
        scored = [(table.get(after(heaps, move), 0.0) + rng.random() * 0.3, move) for move in moves]
        heap, take = max(scored)[1]
        heaps[heap] -= take
        game.append((tuple(sorted(heaps)), turn, take))
        turn = 1 - turn
    return game


def after(heaps: list[int], move: tuple[int, int]) -> tuple[int, ...]:
    left = list(heaps)
    left[move[0]] -= move[1]
    return tuple(sorted(left))


def actor(seed: int, games: "Queue[Game]") -> None:
    rng = random.Random(seed)
    while True:
        games.put(play(rng, {}))
        time.sleep(0.02)


def arena(table: dict[tuple[int, ...], float], seconds: float, verdict: "Queue[list[Game]]") -> None:
    """As many games as fit into its time."""
    rng, kept, ends = random.Random(0), [], time.monotonic() + seconds
    while time.monotonic() < ends:
        game = play(rng, table)
        if len(kept) < 4000:
            kept.append(game)
    verdict.put(kept)


def decide(table: dict[tuple[int, ...], float], seconds: float) -> float:
    verdict: Queue[list[Game]] = mp.get_context("spawn").Queue()
    judge = mp.get_context("spawn").Process(target=arena, args=(table, seconds, verdict))
    judge.start()
    print(f"arena runs as {judge.pid}")
    kept = verdict.get()
    judge.join()
    return sum(game[-1][1] == 0 for game in kept) / len(kept)


def main() -> None:
    context = mp.get_context("spawn")
    games: Queue[Game] = context.Queue(maxsize=256)
    actors = [context.Process(target=actor, args=(seed, games), daemon=True) for seed in range(3)]
    for one in actors:
        one.start()
    print("actors:", *(one.pid for one in actors))
    table: dict[tuple[int, ...], float] = {}
    for generation in range(1, 21):
        for _ in range(40):
            game = games.get()
            for heaps, turn, _take in game:
                won = 1.0 if turn == game[-1][1] else -1.0
                table[heaps] = 0.98 * table.get(heaps, 0.0) + 0.02 * won
        print(f"generation {generation}: 40 games, {len(table)} positions known")
        if generation % 8 == 0:
            print(f"generation {generation}: champion is challenged")
            print(f"generation {generation}: first player wins {decide(table, 45):.1%}")


if __name__ == "__main__":
    main()
