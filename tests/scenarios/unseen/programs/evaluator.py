"""A trainer that evaluates by a program of its own every few steps, with a metrics sidecar on a pipe."""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path

EVERY = 6


def sidecar(folder):
    """Takes metrics, keeps the last ones in a file, and says that it has them."""
    kept = []
    for line in sys.stdin:
        kept = [*kept[-20:], json.loads(line)]
        (folder / "metrics.json").write_text(json.dumps(kept))
        print("ok", flush=True)


def evaluate(weight):
    """The evaluation program: a score on standard output."""
    score = 0.0
    for item in range(4000):
        score += math.cos(weight * item) / 4000
    time.sleep(0.3)
    print(score, flush=True)


def run_evaluation(folder, weight):
    """Start it, wait for it, read its score."""
    argv = [sys.executable, __file__, "--folder", str(folder), "--evaluate", f"{weight:.3f}"]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def send(pipe, metrics):
    """One record to the sidecar, which confirms it."""
    pipe.stdin.write(json.dumps(metrics) + "\n")
    pipe.stdin.flush()
    answer = pipe.stdout.readline()
    if answer.strip() != "ok":
        raise RuntimeError("metrics sidecar lost")


def train(folder, steps):
    """The loop."""
    argv = [sys.executable, __file__, "--folder", str(folder), "--sidecar"]
    pipe = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    weight = 2.0
    for step in range(1, steps + 1):
        slope = 2 * (weight - 0.5)
        weight -= 0.01 * slope
        time.sleep(0.2)
        send(pipe, {"step": step, "weight": weight})
        print(f"{{'loss': {slope * slope / 4:.4f}, 'learning_rate': 0.01, 'epoch': {step / 100:.2f}}}", flush=True)
        if step % EVERY == 0:
            score = run_evaluation(folder, weight)
            print(f"{{'eval_score': {score:.4f}, 'eval_step': {step}}}", flush=True)
    pipe.stdin.close()
    pipe.wait()
    print("{'train_runtime': 'over'}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--sidecar", action="store_true")
    parser.add_argument("--evaluate", type=float)
    given = parser.parse_args()
    if given.sidecar:
        sidecar(given.folder)
    elif given.evaluate is not None:
        evaluate(given.evaluate)
    else:
        train(given.folder, given.steps)


if __name__ == "__main__":
    main()
