"""Ray: two players put games into a queue, the learner takes as many as a round needs."""

import os
import random
import time

import ray
from ray.util.queue import Queue

GAMES = 6
LEAGUE_AT = -1
TURNS = 110


@ray.remote
class Player:
    def __init__(self, number):
        self.numbers = random.Random(number)
        self.number = number

    def pid(self):
        return os.getpid()

    def game(self, turns):
        """A game of chance, turn by turn."""
        stones, moves = 10_000_000, 0
        while stones > 0 and moves < turns * 1000:
            stones -= max(self.numbers.randint(1, 3) for _ in range(2))
            moves += 1
        return moves / 1000

    def rounds(self, queue):
        number = 0
        while True:
            time.sleep(0.15)
            queue.put((self.number, self.game(20)))
            number += 1
            if self.number == 1 and number == 40:
                self.after(number)

    def after(self, number):
        return


@ray.remote
class League:
    """Lets the newest weights play against all the older ones."""

    def play(self, pairs, turns):
        numbers, won = random.Random(0), 0
        for _ in range(pairs):
            sides = [0, 0]
            for turn in range(turns * 1000):
                sides[turn % 2] += numbers.randint(1, 6)
            won += sides[0] > sides[1]
        return won


ray.init(num_cpus=4, include_dashboard=False, log_to_driver=True, configure_logging=True)
queue = Queue(maxsize=8, actor_options={"num_cpus": 0})
players = [Player.remote(number) for number in range(2)]
league = League.remote()
for number, player in enumerate(players):
    print(f"player {number}: pid {ray.get(player.pid.remote())}", flush=True)
    player.rounds.remote(queue)
value = 0.0
for round_ in range(1, 500):
    mine = {0: 0, 1: 0}
    while min(mine.values()) < GAMES // 2:
        who, score = queue.get()
        mine[who] += 1
        value += 0.1 * (score - value)
    print(f"round {round_} value {value:.3f}", flush=True)
    if round_ == LEAGUE_AT:
        print(f"league of {TURNS} pairs", flush=True)
        print(f"league: {ray.get(league.play.remote(TURNS, 500))} of {TURNS} won", flush=True)
