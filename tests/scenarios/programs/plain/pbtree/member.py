"""One member of the population: trains for one generation from its checkpoint, and leaves a new one and its score."""

import argparse
import json
import os
import random
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("member", type=int)
    parser.add_argument("generation", type=int)
    parser.add_argument("--lr", type=float, required=True)
    given = parser.parse_args()
    path = Path(f"members/{given.member}/state.json")
    state = json.loads(path.read_text()) if path.exists() else {"weights": [0.0] * 24, "replay": []}
    rng = random.Random(1000 * given.generation + given.member)
    print(f"member {given.member} gen {given.generation} lr {given.lr:.5f} pid {os.getpid()}", flush=True)
    goal, score = [index / 24 for index in range(24)], 0.0
    for iteration in range(1, 21):
        for index, weight in enumerate(state["weights"]):
            state["weights"][index] += given.lr * (goal[index] - weight) + rng.gauss(0, 0.01)
        score = -sum((weight - aim) ** 2 for weight, aim in zip(state["weights"], goal, strict=True))
        state["replay"] = [*state["replay"], [round(rng.random(), 12) for _ in range(3000)]][-200:]
        time.sleep(0.1)
        if iteration % 5 == 0:
            print(f"member {given.member} gen {given.generation} iter {iteration}/20 score {score:.4f}", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(state))
    path.with_name("score.json").write_text(json.dumps(score))


if __name__ == "__main__":
    main()
