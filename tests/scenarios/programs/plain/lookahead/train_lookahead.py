"""A perceptron on stripes, with batches that a thread makes ahead."""

import os
import threading
import time

import numpy as np

STEPS = 40000


class Ahead:
    """One batch is always being made while another is used."""

    def __init__(self):
        self.batch = None
        self.filled = threading.Condition()
        self.misses = 0
        threading.Thread(target=self._make, name="batches", daemon=True).start()

    def _make(self):
        source = np.random.default_rng(0)
        while True:
            rows = source.normal(size=(256, 64))
            for _ in range(int(source.integers(1, 12))):
                rows += 0.01 * np.roll(rows, 1, axis=1)
            with self.filled:
                self.filled.wait_for(lambda: self.batch is None)
                self.batch = rows
                self.filled.notify_all()

    def next(self):
        if self.batch is None:
            self.misses += 1
            self._note()
            with self.filled:
                self.filled.wait()
        with self.filled:
            rows, self.batch = self.batch, None
            self.filled.notify_all()
        return rows

    def _note(self):
        with open("misses.txt", "w") as out:
            out.write(f"{self.misses} {time.time()}\n")


ahead = Ahead()
weights = np.zeros(64)
print(f"pid {os.getpid()}: {STEPS} steps", flush=True)
for step in range(1, STEPS + 1):
    rows = ahead.next()
    wanted = np.sign(rows[:, 3] - rows[:, 9])
    wrong = np.sign(rows @ weights + 1e-9) != wanted
    weights += 0.01 * (wanted[wrong, None] * rows[wrong]).sum(0)
    print(f"step {step}/{STEPS} wrong {wrong.mean():.3f}", flush=True)
