"""Three players try lines of a small game by search; the learner takes a game of each before it updates, and says for whom it waits."""

import multiprocessing as mp
import os
import time
from multiprocessing.connection import wait

DEEP = {(1, 25): 17}
"""Player and round, and how deep it searches then."""
PLAYERS = 3


def best(pile, depth, moves=(1, 3, 4)):
    """Value of a pile for who moves, looked at to this depth without a memory."""
    if pile <= 0:
        return -1
    if depth == 0:
        return 0
    return max(-best(pile - move, depth - 1) for move in moves)


def play(number, pipe):
    while True:
        turn = pipe.recv()
        if turn is None:
            return
        depth = DEEP.get((number, turn), 8)
        pipe.send([best(40 + turn % 3, depth) for _ in range(2)])


def main():
    context = mp.get_context("spawn")
    pipes, players = [], []
    for number in range(PLAYERS):
        here, there = context.Pipe()
        player = context.Process(target=play, args=(number, there), name=f"player-{number}")
        player.start()
        print(f"player {number} has pid {player.pid}", flush=True)
        pipes.append(here)
        players.append(player)
    print(f"learner has pid {os.getpid()}", flush=True)
    for turn in range(1, 201):
        for pipe in pipes:
            pipe.send(turn)
        left, games = list(pipes), []
        while left:
            ready = wait(left, timeout=4)
            if not ready:
                print(f"    waiting for games: {PLAYERS - len(left)} of {PLAYERS} are in", flush=True)
            for pipe in ready:
                games.append(sum(pipe.recv()))
                left.remove(pipe)
        print(f"round {turn}/200 value {sum(games) / len(games):+.2f}", flush=True)
        time.sleep(0.05)
    for pipe in pipes:
        pipe.send(None)


if __name__ == "__main__":
    main()
