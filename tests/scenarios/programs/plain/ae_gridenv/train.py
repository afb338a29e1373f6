"""Fleet of simulated carts on one track; all carts keep to one clock. Cross-entropy method over steering weights."""

import argparse
import multiprocessing as mp
import os

import numpy as np

TICKS = 240
SYNC_EVERY = 40
SUBSTEPS = 240
SKID_SUBSTEPS = 1_600_000  # a tyre that slides is stiff: very small steps


def cart(number: int, pipe, clock, stop_on_crash: bool) -> None:
    """Drive the weights that the trainer sends, and tell the return. The track's traffic lights change for all carts at once."""
    while True:
        generation, weights, grip = pipe.recv()
        if weights is None:
            return
        position, speed, total, crashed = 0.0, 1.0, 0.0, False
        for tick in range(1, TICKS + 1):
            slides = grip < 0.5 and number == 2
            for _ in range(SKID_SUBSTEPS if slides else SUBSTEPS):
                speed += 1e-4 * (weights[tick % 4] - 0.01 * speed * abs(speed))
                position += 1e-4 * speed
            if slides and tick == 47:
                crashed = True
                print(f"cart {number}: off the track at tick {tick} of generation {generation}", flush=True)
            total += speed - 5.0 * crashed
            if crashed and stop_on_crash:
                break
            if tick % SYNC_EVERY == 0:
                clock.wait()
        pipe.send((number, total, crashed, tick))


def show(rows: dict[str, object]) -> None:
    """The table that everybody knows from other libraries."""
    width = max(len(f"{value}") for value in rows.values())
    print("-" * (27 + width))
    for name, value in rows.items():
        print(f"|    {name:<18} | {value!s:<{width}} |")
    print("-" * (27 + width), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--carts", type=int, default=4)
    parser.add_argument("--generations", type=int, default=40)
    parser.add_argument("--stop-on-crash", action="store_true")
    args = parser.parse_args()
    clock = mp.Barrier(args.carts)
    pipes = []
    for number in range(args.carts):
        here, there = mp.Pipe()
        process = mp.Process(target=cart, args=(number, there, clock, args.stop_on_crash), name=f"cart-{number}", daemon=True)
        process.start()
        print(f"cart {number}: pid {process.pid}", flush=True)
        pipes.append(here)
    print(f"Using cpu device, trainer {os.getpid()}", flush=True)
    rng, mean, spread = np.random.default_rng(5), np.ones(4), 0.5
    for generation in range(1, args.generations + 1):
        wet = generation > 8
        if generation == 9:
            print("Curriculum: wet track from here on", flush=True)
        weights = rng.normal(mean, spread, size=(args.carts, 4))
        for pipe, row in zip(pipes, weights):
            pipe.send((generation, row.tolist(), 0.3 if wet else 1.0))
        returns = [pipe.recv() for pipe in pipes]
        best = sorted(returns, key=lambda row: -row[1])[:2]
        mean = 0.7 * mean + 0.3 * weights[[row[0] for row in best]].mean(0)
        show({"ep_len_mean": np.mean([row[3] for row in returns]), "ep_rew_mean": f"{np.mean([row[1] for row in returns]):.3g}",
              "crashes": sum(row[2] for row in returns), "iterations": generation, "total_timesteps": generation * args.carts * TICKS})
    for pipe in pipes:
        pipe.send((0, None, 0))


if __name__ == "__main__":
    main()
