"""Self-play with Ray: players that ask for weights and play, a judge that scores games, and a learner that updates."""

from __future__ import annotations

import argparse
import logging
import os
import random
import time

import ray

PLAYERS = 2
log = logging.getLogger("selfplay")


@ray.remote(num_cpus=0)
class Player:
    """Plays games of guessing with the newest weights."""

    def __init__(self, rank):
        self.rank = rank
        self.chance = random.Random(rank)

    def play(self, weights, games):
        rank = self.rank
        results = []
        for number in range(games):
            moves = self.game(weights)
            results.append((rank, number, moves))
        return results

    def game(self, weights):
        time.sleep(0.03)
        bias = sum(weights) / len(weights)
        return [self.chance.gauss(bias, 1.0) for _ in range(9)]


@ray.remote(num_cpus=0)
class Judge:
    """Says who won."""

    def __init__(self):
        self.seen = 0

    def score(self, games):
        scores = []
        for _, _, moves in games:
            value = self.value(moves)
            scores.append(value)
        self.seen += len(games)
        return scores

    def value(self, moves):
        total = sum(move > 0 for move in moves)
        return 1.0 if total > 4 else -1.0


@ray.remote(num_cpus=0)
class Learner:
    """Keeps the weights."""

    def __init__(self):
        self.weights = [0.0] * 8

    def update(self, scores):
        mean = sum(scores) / len(scores)
        step = 0.05 * (1.0 - mean)
        self.weights = [weight + step for weight in self.weights]
        time.sleep(0.05)
        return mean

    def current(self):
        return list(self.weights)


def iterate(players, judge, learner):
    """One round of games; the mean score."""
    weights = ray.get(learner.current.remote())
    played = ray.get([player.play.remote(weights, 4) for player in players])
    games = [game for part in played for game in part]
    scores = ray.get(judge.score.remote(games))
    return ray.get(learner.update.remote(scores))


def train(steps):
    """The driver's loop."""
    players = [Player.options(runtime_env={"env_vars": {"RANK": str(rank)}}).remote(rank) for rank in range(PLAYERS)]
    judge = Judge.options(runtime_env={"env_vars": {"RANK": "2"}}).remote()
    learner = Learner.options(runtime_env={"env_vars": {"RANK": "3"}}).remote()
    for step in range(1, steps + 1):
        began = time.monotonic()
        mean = iterate(players, judge, learner)
        took = time.monotonic() - began
        log.info("iteration=%d mean_score=%.3f games=%d time=%.2fs", step, mean, 4 * PLAYERS, took)
    log.info("self-play finished")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 * 1024 * 1024)
    train(given.steps)
    ray.shutdown()


if __name__ == "__main__":
    main()
