"""Producers write samples into named pipes, a mixer reads all and writes one, and a trainer reads that."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

PRODUCERS = 2


def produce(path, number):
    """Lines of numbers, for as long as someone reads."""
    generator = random.Random(number)
    try:
        with path.open("w", buffering=1) as pipe:
            while True:
                row = [generator.random() for _ in range(20)]
                text = " ".join(f"{value:.4f}" for value in row)
                pipe.write(text + "\n")
                time.sleep(0.12)
    except BrokenPipeError:
        os._exit(0)


def mix(sources, target):
    """One line from each, in turn."""
    pipes = [source.open() for source in sources]
    try:
        with target.open("w", buffering=1) as out:
            while True:
                for pipe in pipes:
                    line = pipe.readline()
                    if not line:
                        return
                    out.write(line)
    except BrokenPipeError:
        os._exit(0)


def train(path, steps):
    """Eat lines."""
    weight = 0.0
    with path.open() as pipe:
        for step in range(1, steps + 1):
            batch = []
            for _ in range(PRODUCERS):
                line = pipe.readline()
                if not line:
                    raise EOFError("input stream closed")
                batch.append([float(word) for word in line.split()])
            mean = sum(map(sum, batch)) / (20 * PRODUCERS)
            weight += 0.1 * (mean - weight)
            time.sleep(0.05)
            print(f"n_batch={step}\tweight={weight:.5f}\terr={abs(mean - weight):.5f}", flush=True)
    print("reached the requested number of batches", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--role", default="train")
    given = parser.parse_args()
    sources = [given.folder / f"source{number}.fifo" for number in range(PRODUCERS)]
    mixed = given.folder / "mixed.fifo"
    if given.role == "mix":
        mix(sources, mixed)
        return
    if given.role != "train":
        produce(sources[int(given.role)], int(given.role))
        return
    for path in (*sources, mixed):
        os.mkfifo(path)
    argv = [sys.executable, __file__, "--folder", str(given.folder)]
    helpers = [subprocess.Popen([*argv, "--role", role]) for role in ("0", "1", "mix")]
    train(mixed, given.steps)
    for process in helpers:
        process.wait()


if __name__ == "__main__":
    main()
