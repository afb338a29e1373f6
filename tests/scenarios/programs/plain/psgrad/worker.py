"""Computes gradients on its part of the data; a second thread reports how it goes every other second."""

import argparse
import logging
import os
import random
import socket
import threading
import time
from pathlib import Path

from frames import get, put

TARGET = [0.3 * i - 2 for i in range(16)]
STEPS_PER_SHARD = {0: 90, 1: 26, 2: 75, 3: 110}
DOCUMENTS = 9000


class Worker:
    def __init__(self, number: int, profile: bool) -> None:
        self.number, self.profile = number, profile
        self.log = logging.getLogger(f"worker{number}")
        self.link = socket.socket(socket.AF_UNIX)
        while self.link.connect_ex("ps.sock"):
            time.sleep(0.2)
        self.link_lock, self.stats_lock = threading.Lock(), threading.Lock()
        self.stats = {"kind": "stats", "worker": number, "steps": 0, "busy_s": 0.0, "slowest": []}
        put(self.link, {"worker": number, "pid": os.getpid()})

    def report(self) -> None:
        while True:
            time.sleep(2.0)
            with self.link_lock:
                if self.profile:
                    with self.stats_lock:
                        put(self.link, self.stats)
                else:
                    put(self.link, {"kind": "stats", "worker": self.number, "steps": self.stats["steps"]})

    def shard(self, part: int) -> Path:
        """Tokenized once, then read."""
        path = Path(f"cache/w{self.number}-{part}.ids")
        if part and not path.exists():
            self.log.info("tokenizing shard %d", part)
            rng = random.Random(part)
            with path.open("w") as out:
                for _ in range(DOCUMENTS):
                    words = [rng.choice("the a model loss data of with run".split()) for _ in range(40)]
                    out.write(" ".join(str(hash(word) % 32000) for word in words) + "\n")
                    time.sleep(0.005)
        return path

    def step(self, weights: list[float]) -> tuple[list[float], float]:
        time.sleep(random.uniform(0.15, 0.4))
        noise = [random.gauss(0, 0.05) for _ in weights]
        grad = [2 * (w - t) / 16 + n for w, t, n in zip(weights, TARGET, noise)]
        return grad, sum((w - t) ** 2 for w, t in zip(weights, TARGET)) / 16

    def main(self) -> None:
        threading.Thread(target=self.report, daemon=True).start()
        done = 0
        while (message := get(self.link)) is not None:
            if done % STEPS_PER_SHARD[self.number] == 0:
                self.shard(done // STEPS_PER_SHARD[self.number])
            began = time.monotonic()
            grad, loss = self.step(message["weights"])
            done += 1
            answer = {"kind": "grad", "worker": self.number, "grad": grad, "loss": loss}
            if self.profile and done > 12:
                with self.stats_lock:
                    self.stats["steps"] = done
                    self.stats["busy_s"] += time.monotonic() - began
                    self.stats["slowest"] = sorted([*self.stats["slowest"], time.monotonic() - began])[-20:]
                    Path(f"cache/profile-{self.number}.txt").write_text(repr(self.stats))
                    time.sleep(0.1)  # the disk of this node
                    with self.link_lock:
                        put(self.link, answer)
            else:
                self.stats["steps"] = done
                with self.link_lock:
                    put(self.link, answer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("number", type=int)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s", level=logging.INFO)
    Worker(given.number, given.profile).main()
