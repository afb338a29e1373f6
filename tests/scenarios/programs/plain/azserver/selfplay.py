"""Self-play with one inference server for all players: it values boards in batches, and takes one request of each player into a batch."""

import argparse
import multiprocessing as mp
import os
import queue
import random
import time
from multiprocessing.connection import Connection

from board import Cells
from player import Ask, run


def value(cells: Cells, weights: list[float]) -> float:
    return sum(weight * (1, 0, -1)[(cell + 2) % 3] for weight, cell in zip(weights, cells, strict=True))


def serve(asks: "mp.Queue[Ask]", answers: list[Connection], batch: int, linger: float | None) -> None:
    """Until nobody asks any more. `linger`: how long it waits for a batch to be full; None: for ever."""
    rng = random.Random(0)
    weights = [rng.gauss(0, 0.1) for _ in range(30)]
    print(f"inference: pid {os.getpid()}, batches of {batch}", flush=True)
    while True:
        taken = [asks.get()]
        while len(taken) < batch:
            try:
                taken.append(asks.get(timeout=linger))
            except queue.Empty:
                break
        time.sleep(0.02)
        for number, boards in taken:
            answers[number].send([value(board, weights) for board in boards])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--players", type=int, default=4)
    parser.add_argument("--games", type=int, default=400, help="of all players together")
    parser.add_argument("--linger", type=float, default=0.5)
    parser.add_argument("--solve", type=int, default=0, help="depth to which player 2 proves a position in its seventh game")
    given = parser.parse_args()
    context = mp.get_context("spawn")
    asks: mp.Queue[Ask] = context.Queue()
    done: mp.Queue[str] = context.Queue()
    pipes = [context.Pipe() for _ in range(given.players)]
    linger = given.linger if given.linger > 0 else None
    ours = [one for one, _ in pipes]
    server = context.Process(target=serve, args=(asks, ours, given.players, linger), daemon=True)
    server.start()
    shares = [given.games // given.players + (number < given.games % given.players) for number in range(given.players)]
    players = [
        context.Process(target=run, args=(number, shares[number], {7: given.solve} if number == 2 else {}, asks, pipes[number][1], done))
        for number in range(given.players)
    ]
    for one in players:
        one.start()
    for index in range(1, given.games + 1):
        print(f"{time.strftime('%H:%M:%S')} [{index}/{given.games}] {done.get()}", flush=True)
    for one in players:
        one.join()
    print("self-play is over", flush=True)


if __name__ == "__main__":
    main()
