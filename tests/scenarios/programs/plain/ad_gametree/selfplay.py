"""Four players grow game trees and hand them over; the trainer waits for all four before each round."""

import multiprocessing as mp
import os
import pickle
import random
import sys
import time

PLAYERS = 4
sys.setrecursionlimit(1_000_000)


class Node:
    __slots__ = ("child", "move")

    def __init__(self, move: int) -> None:
        self.move, self.child = move, None


def play(rng: random.Random, plies: int) -> Node:
    root = node = Node(rng.randrange(361))
    for _ in range(plies):
        node.child = Node(rng.randrange(361))
        node = node.child
    return root


def player(number: int, orders, games: mp.Queue) -> None:
    print(f"player {number}: pid {os.getpid()}", flush=True)
    rng = random.Random(number)
    while (round_ := orders.get()) is not None:
        time.sleep(0.6)
        plies = 60 + rng.randrange(200)
        if (number, round_) == (2, 11):
            plies = 400_000
        games.put((number, pickle.dumps(play(rng, plies))))


def main() -> None:
    games: mp.Queue = mp.Queue()
    orders = [mp.SimpleQueue() for _ in range(PLAYERS)]
    players = [mp.Process(target=player, args=(number, order, games)) for number, order in enumerate(orders)]
    for one in players:
        one.start()
    for round_ in range(40):
        for order in orders:
            order.put(round_)
        size = sum(len(games.get()[1]) for _ in range(PLAYERS))
        print(f"round {round_:02d}: 4 games, {size} bytes, elo {1000 + 7 * round_}", flush=True)
    for order in orders:
        order.put(None)


if __name__ == "__main__":
    main()
