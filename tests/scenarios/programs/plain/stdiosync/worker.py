"""Trains on its part, in step with the others. Worker 1 keeps the best weights, and a copy for those who look at them."""

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

COPY = ["cp", "-f"]
FLAKY = 0.0
EVERY = 20


def keep(step: int, weight: float) -> None:
    Path("export").mkdir(exist_ok=True)
    Path("best.ckpt").write_text(f"{step} {weight}\n")
    subprocess.run([*COPY, "best.ckpt", "export/best.ckpt"], check=True)
    print(f"kept the weights of step {step}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("number", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("--resume", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.number + 10 * args.resume)
    weight, best = 5.0 * 0.93**args.resume, 1e9
    print(f"from step {args.resume}, pid {os.getpid()}")
    for step in range(args.resume, args.steps + 1):
        time.sleep(rng.uniform(0.1, 0.4))
        weight -= 0.07 * (weight + rng.gauss(0, 0.02))
        if args.number == 2 and args.resume == 1 and step == 33 and FLAKY:
            raise OSError(5, "Input/output error", "/data/part-2/rows.bin")
        print(f"sync {step} {weight * weight:.5f}")
        mean = float(sys.stdin.readline().split()[1])
        if args.number == 1 and step % EVERY == 0 and mean < best:
            best = mean
            keep(step, weight)
    print("done")


if __name__ == "__main__":
    main()
