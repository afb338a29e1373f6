"""Two trainers in lock step by a pipe; a process is forked for every checkpoint and joined before the next."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from pathlib import Path


def write(path, state):
    """In the checkpoint process."""
    text = json.dumps(state)
    with path.with_suffix(".tmp").open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    time.sleep(0.3)
    path.with_suffix(".tmp").rename(path)


def gradient(weights, seed):
    """A toy gradient."""
    out = []
    for position, weight in enumerate(weights):
        pull = ((position * 7 + seed * 13) % 11) / 11 - 0.5
        out.append(0.1 * weight - pull)
    time.sleep(0.08)
    return out


def swap(link, mine):
    """Both sides send, both receive, and take the mean."""
    link.send(mine)
    theirs = link.recv()
    return [(one + other) / 2 for one, other in zip(mine, theirs, strict=True)]


def train(rank, link, folder, steps):
    """One of the two."""
    weights, saving = [0.0] * 40, None
    for step in range(1, steps + 1):
        mine = gradient(weights, step * 2 + rank)
        mean = swap(link, mine)
        weights = [weight - 0.1 * pull for weight, pull in zip(weights, mean, strict=True)]
        time.sleep(0.08)
        if rank == 0:
            print(f"[Rank 0] Step {step}/{steps}: loss={sum(abs(pull) for pull in mean):.4f}", flush=True)
        if rank == 0 and step % 6 == 0:
            if saving is not None:
                saving.join()
                print(f"[Rank 0] checkpoint saved ({saving.exitcode})", flush=True)
            saving = multiprocessing.Process(target=write, args=(folder / f"ckpt-{step % 2}.json", weights), name="ckpt")
            saving.start()
    if saving is not None:
        saving.join()
    print(f"[Rank {rank}] Training finished", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    ends = multiprocessing.Pipe()
    ranks = [multiprocessing.Process(target=train, args=(index, ends[index], given.folder, given.steps)) for index in range(2)]
    for process in ranks:
        process.start()
    for end in ends:
        end.close()
    for process in ranks:
        process.join()
    if any(process.exitcode for process in ranks):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
