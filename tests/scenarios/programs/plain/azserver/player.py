"""A self-play worker: a shallow search, whose leaves the inference server values."""

import multiprocessing as mp
import os
import random
from multiprocessing.connection import Connection

from board import HEIGHT, WIDTH, Cells, drop, moves, wins

Ask = tuple[int, list[Cells]]


class Player:
    """One game at a time."""

    def __init__(self, number: int, asks: "mp.Queue[Ask]", answers: Connection) -> None:
        self.number, self.asks, self.answers = number, asks, answers
        self.rng = random.Random(number)

    def values(self, boards: list[Cells]) -> list[float]:
        self.asks.put((self.number, boards))
        return list(self.answers.recv())

    def deep(self, cells: Cells, who: int, depth: int) -> float:
        """Full width, by hand, without the server: for a position that may be decided."""
        if wins(cells, 3 - who):
            return -1.0
        if not depth or not moves(cells):
            return 0.0
        return max(-self.deep(drop(cells, column, who), 3 - who, depth - 1) for column in moves(cells))

    def game(self, solve: int) -> tuple[int, int]:
        """Who won (0: nobody), and after how many moves. The last move is proven by a search of depth `solve`."""
        cells: Cells = (0,) * (WIDTH * HEIGHT)
        who, count = 1, 0
        while moves(cells):
            after = [drop(cells, column, who) for column in moves(cells)]
            scored = [value + self.rng.random() * 0.2 for value in self.values(after)]
            cells, count = after[scored.index(max(scored))], count + 1
            if wins(cells, who):
                return who, count
            who = 3 - who
            if count == 8 and solve:
                print(f"player {self.number}: solves a position to depth {solve}", flush=True)
                print(f"player {self.number}: its value is {self.deep(cells, who, solve):+.0f}", flush=True)
        return 0, count


def run(number: int, games: int, solve: dict[int, int], asks: "mp.Queue[Ask]", answers: Connection, done: "mp.Queue[str]") -> None:
    """So many games, then it leaves."""
    player = Player(number, asks, answers)
    print(f"player {number}: pid {os.getpid()}, {games} games to play", flush=True)
    for index in range(1, games + 1):
        who, count = player.game(solve.get(index, 0))
        done.put(f"player {number} game {index}/{games}: {'draw' if not who else f'{who} wins'} after {count} moves")
