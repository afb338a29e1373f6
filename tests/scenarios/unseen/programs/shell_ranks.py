"""A shell script starts three ranks in the background and waits for them; rank 0 collects."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from multiprocessing.connection import Client, Listener
from pathlib import Path

WORLD = 3
SCRIPT = """#!/bin/bash
cd "$1"
pids=""
for r in 0 1 2; do
  {python} {program} --folder "$1" --steps "$2" --rank $r &
  pids="$pids $!"
done
status=0
for p in $pids; do wait $p || status=1; done
[ $status = 0 ] && echo "run_all.sh: all ranks exited cleanly"
exit $status
"""


def local_loss(step, rank):
    """The loss on this rank's part of the data."""
    generator = random.Random(step * WORLD + rank)
    values = [generator.random() for _ in range(500)]
    time.sleep(0.1)
    return sum(value * value for value in values) / len(values)


def rank_zero(address, steps):
    """Collect, average, answer."""
    rank = 0
    listener = Listener(str(address), family="AF_UNIX")
    peers = [listener.accept() for _ in range(WORLD - 1)]
    for step in range(steps):
        total = local_loss(step, rank)
        for peer in peers:
            total += peer.recv()
        mean = total / WORLD
        for peer in peers:
            peer.send(mean)
        print(f"rank 0 | it {step} | avg_loss {mean:.6f}", flush=True)


def other(address, steps, rank):
    """Send mine, wait for the mean."""
    while not address.exists():
        time.sleep(0.1)
    time.sleep(0.2)
    peer = Client(str(address), family="AF_UNIX")
    for step in range(steps):
        mine = local_loss(step, rank)
        peer.send(mine)
        mean = peer.recv()
        if step % 5 == 0:
            print(f"rank {rank} | it {step} | local {mine:.6f} | drift {mine - mean:+.6f}", flush=True)
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--rank", type=int)
    given = parser.parse_args()
    address = given.folder / "ranks.sock"
    if given.rank is None:
        script = given.folder / "run_all.sh"
        script.write_text(SCRIPT.format(python=sys.executable, program=os.path.abspath(__file__)))
        os.execv("/bin/bash", ["bash", str(script), str(given.folder), str(given.steps)])
    if given.rank == 0:
        rank_zero(address, given.steps)
    else:
        other(address, given.steps, given.rank)


if __name__ == "__main__":
    main()
