"""A trainer whose checkpoints a thread writes, with a process that prepares the batches."""

from __future__ import annotations

import argparse
import multiprocessing
import pickle
import queue
import random
import threading
import time
from pathlib import Path

EVERY = 5


def prepare(batches):
    """The data process."""
    generator = random.Random(3)
    while True:
        batch = [[generator.gauss(0, 1) for _ in range(30)] for _ in range(4)]
        time.sleep(0.08)
        batches.put(batch)


class Saver:
    """Writes one checkpoint at a time, in the background."""

    def __init__(self, folder):
        self.folder = folder
        self.jobs = queue.Queue(maxsize=1)
        self.idle = threading.Event()
        self.idle.set()
        threading.Thread(target=self.run, name="saver", daemon=True).start()

    def run(self):
        while True:
            step, state = self.jobs.get()
            data = pickle.dumps(state)
            part = self.folder / "last.ckpt.part"
            part.write_bytes(data * 50)
            part.rename(self.folder / "last.ckpt")
            time.sleep(0.2)
            print(f"saver: wrote checkpoint of step {step}", flush=True)
            self.idle.set()

    def save(self, step, state):
        """Wait for the last one, then hand this one over."""
        self.idle.wait()
        self.idle.clear()
        self.jobs.put((step, dict(state)))


def train(folder, batches, steps):
    """The loop."""
    state = {"weight": [0.0] * 30, "step": 0}
    saver = Saver(folder)
    for step in range(1, steps + 1):
        batch = batches.get()
        for row in batch:
            for position, value in enumerate(row):
                state["weight"][position] += 0.01 * (value - state["weight"][position])
        state["step"] = step
        time.sleep(0.08)
        norm = sum(value * value for value in state["weight"]) ** 0.5
        print(f"I{time.strftime('%m%d %H:%M:%S')} train.py:61] step: {step} | w_norm: {norm:.5f}", flush=True)
        if step % EVERY == 0:
            saver.save(step, state)
    saver.idle.wait()
    print("final checkpoint on disk, shutting down", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    batches = multiprocessing.Queue(maxsize=4)
    feeder = multiprocessing.Process(target=prepare, args=(batches,), name="data-prep", daemon=True)
    feeder.start()
    train(given.folder, batches, given.steps)


if __name__ == "__main__":
    main()
