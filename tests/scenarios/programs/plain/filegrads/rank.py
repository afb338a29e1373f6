"""Gradients as files: each rank writes its own for a step and waits for those of the others."""

import argparse
import json
import math
import os
import random
import time
from pathlib import Path

EXCHANGE = Path("exchange")


def say(rank: int, text: str) -> None:
    print(f"{time.strftime('%d.%m. %H:%M:%S')} rank {rank} - {text}", flush=True)


def share(rank: int, step: int, grad: list[float]) -> None:
    part = EXCHANGE / f".{step}-{rank}"
    part.write_text(json.dumps(grad))
    part.rename(EXCHANGE / f"{step}-{rank}.json")


def collect(rank: int, world: int, step: int) -> list[list[float]]:
    paths = [EXCHANGE / f"{step}-{other}.json" for other in range(world)]
    began = told = time.time()
    while missing := [path for path in paths if not path.exists()]:
        time.sleep(0.05)
        if time.time() - told > 10:
            told = time.time()
            say(rank, f"step {step}: {world - len(missing)} of {world} gradients after {told - began:.0f} s")
    return [json.loads(path.read_text()) for path in paths]


def gradient(rng: random.Random, weights: list[float], steep: float) -> tuple[float, list[float]]:
    time.sleep(rng.uniform(0.1, 0.4))
    noise = rng.gauss(0, 0.02)
    loss = sum((w - 1) ** 2 for w in weights) / len(weights) + noise
    if rng.random() < steep:
        loss = math.inf
    return loss, [2 * (w - 1) / len(weights) + noise for w in weights]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--steep", type=float, default=0.04, help="how often a batch has no finite loss")
    args = parser.parse_args()
    rng = random.Random(args.rank)
    weights, step = [0.0] * 8, 0
    say(args.rank, f"pid {os.getpid()}, world {args.world}, {args.steps} steps")
    while step < args.steps:
        step += 1
        loss, grad = gradient(rng, weights, args.steep if args.rank == 3 else 0.0)
        if not math.isfinite(loss):
            say(args.rank, f"step {step}: loss is {loss}, batch left out")
            grad = [0.0] * len(weights)
        share(args.rank, step, grad)
        grads = collect(args.rank, args.world, step)
        weights = [w - 0.5 * sum(column) / args.world for w, column in zip(weights, zip(*grads))]
        if args.rank == 0 or step % 10 == 0:
            say(args.rank, f"step {step}/{args.steps} loss {loss:.4f}")
        old = EXCHANGE / f"{step - 2}-{args.rank}.json"
        old.unlink(missing_ok=True)
    say(args.rank, "training is over")


if __name__ == "__main__":
    main()
