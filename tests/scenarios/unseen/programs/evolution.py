"""Evolution strategies on a pool of forkserver workers."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time

POPULATION = 6


def fitness(genome):
    """How good one candidate is."""
    total = 0.0
    for position, gene in enumerate(genome):
        total -= (gene - position / len(genome)) ** 2
    for turn in range(3000):
        total += 1e-9 * (turn % 3)
    time.sleep(0.08)
    return total


def mutate(parent, generator, sigma):
    """A child."""
    return [gene + generator.gauss(0, sigma) for gene in parent]


def evolve(pool, steps):
    """Generation after generation."""
    generator = random.Random(11)
    parent, sigma = [0.5] * 12, 0.1
    for generation in range(steps):
        children = [mutate(parent, generator, sigma) for _ in range(POPULATION)]
        scores = pool.map(fitness, children, chunksize=1)
        order = sorted(range(POPULATION), key=lambda place: -scores[place])
        parent = children[order[0]]
        sigma *= 0.999
        time.sleep(0.05)
        print(f"gen {generation:>5}  best {scores[order[0]]:.5f}  worst {scores[order[-1]]:.5f}  sigma {sigma:.4f}", flush=True)
    return parent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    context = multiprocessing.get_context("forkserver")
    print("population of 6 on 3 workers", flush=True)
    with context.Pool(3) as pool:
        winner = evolve(pool, given.steps)
    print("winner:", " ".join(f"{gene:.2f}" for gene in winner), flush=True)


if __name__ == "__main__":
    main()
