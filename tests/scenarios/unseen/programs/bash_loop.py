"""A bash loop that runs one short process after the other, one for each round, each with a child for its data."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

PER_ROUND = 8
SCRIPT = """set -euo pipefail
for ((round = 0; round < $3; round++)); do
  "$1" "$2" --folder "$4" --round $round
done
echo "sweep.sh: done, $3 rounds"
"""


def generate():
    """The child: prints rows."""
    generator = random.Random(5)
    for _ in range(PER_ROUND):
        row = [generator.random() for _ in range(25)]
        time.sleep(0.05)
        print(json.dumps(row), flush=True)


def load(path):
    """What the round before left."""
    if path.exists():
        return json.loads(path.read_text())
    return {"step": 0, "weight": 0.0}


def play_round(folder, number):
    """One round: start the child, train on its rows, save."""
    state = load(folder / "state.json")
    argv = [sys.executable, __file__, "--folder", str(folder), "--generate", str(number)]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    for line in child.stdout:
        row = json.loads(line)
        mean = sum(row) / len(row)
        state["weight"] += 0.05 * (mean - state["weight"])
        state["step"] += 1
        time.sleep(0.2)
        print(f"round={number} step={state['step']} w={state['weight']:.4f}", flush=True)
    if child.wait():
        raise RuntimeError("data child failed")
    (folder / "state.json").write_text(json.dumps(state))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--round", type=int)
    parser.add_argument("--generate", type=int)
    given = parser.parse_args()
    if given.generate is not None:
        generate()
    elif given.round is not None:
        play_round(given.folder, given.round)
    else:
        script = given.folder / "sweep.sh"
        script.write_text(SCRIPT)
        rounds = str(max(1, given.steps // PER_ROUND))
        os.execv("/bin/bash", ["bash", str(script), sys.executable, __file__, rounds, str(given.folder)])


if __name__ == "__main__":
    main()
