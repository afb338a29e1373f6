"""A launcher, two node agents below it, two ranks below each; rounds go down and up the pipes."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

NODES = 2
PER_NODE = 2


def start(role, folder, *more):
    """A child of this program in another role, with pipes."""
    argv = [sys.executable, __file__, "--folder", folder, "--role", role, *map(str, more)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def exchange(children, word):
    """Tell all, then hear all."""
    for child in children:
        child.stdin.write(word + "\n")
        child.stdin.flush()
    answers = []
    for child in children:
        answer = child.stdout.readline()
        if not answer:
            raise RuntimeError("lost contact with a child")
        answers.append(float(answer))
    return sum(answers) / len(answers)


def leaf(rank):
    """A rank: compute on request."""
    for line in sys.stdin:
        round_number = int(line)
        value = 1.0
        for turn in range(2000):
            value = 0.999 * value + 0.001 * ((turn * (rank + 1) + round_number) % 5)
        time.sleep(0.08)
        if rank == 3 and round_number % 10 == 0:
            print(f"[node1:rank3] memory ok at round {round_number}", file=sys.stderr, flush=True)
        print(value, flush=True)


def agent(folder, node):
    """A node agent: pass on and average."""
    ranks = [start("rank", folder, "--number", node * PER_NODE + place) for place in range(PER_NODE)]
    for line in sys.stdin:
        mean = exchange(ranks, line.strip())
        print(mean, flush=True)
    for child in ranks:
        child.stdin.close()
        child.wait()


def launch(folder, steps):
    """The launcher: rounds, and the log."""
    agents = [start("agent", folder, "--number", node) for node in range(NODES)]
    print(f"launcher: {NODES} nodes x {PER_NODE} ranks", flush=True)
    for number in range(1, steps + 1):
        began = time.monotonic()
        mean = exchange(agents, str(number))
        time.sleep(0.05)
        print(f"launcher: round {number}/{steps} objective {mean:.4f} ({time.monotonic() - began:.2f} s)", flush=True)
    for child in agents:
        child.stdin.close()
        child.wait()
    print("launcher: job succeeded", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--role", default="launcher")
    parser.add_argument("--number", type=int, default=0)
    given = parser.parse_args()
    if given.role == "rank":
        leaf(given.number)
    elif given.role == "agent":
        agent(given.folder, given.number)
    else:
        launch(given.folder, given.steps)


if __name__ == "__main__":
    main()
