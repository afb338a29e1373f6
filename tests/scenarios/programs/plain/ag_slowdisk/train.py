"""Trains a little, and keeps its state on the archive disk, which is slow."""

import os
import sys
import time
from datetime import datetime
from pathlib import Path

import numpy as np

SHARD = 64 * 1024


def say(text: str) -> None:
    sys.stdout.write(f"[{datetime.now():%m/%d %H:%M:%S}] {text}\n")
    sys.stdout.flush()


class ArchiveDisk:
    """Stands for the real one: 64 kB, and then it has to think."""

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)

    def write(self, data: bytes, pause_s: float) -> None:
        for start in range(0, len(data), SHARD):
            os.write(self.file, data[start : start + SHARD])
            os.fsync(self.file)
            time.sleep(pause_s)

    def close(self) -> None:
        os.close(self.file)


def main() -> None:
    rng = np.random.default_rng(0)
    weights, moments = rng.normal(size=(512, 256)), np.zeros((512, 256))
    for step in range(1, 201):
        time.sleep(0.06)
        moments = 0.9 * moments + rng.normal(size=weights.shape)
        weights -= 1e-3 * moments
        if step % 10 == 0:
            say(f"iter: {step}/200 norm: {np.linalg.norm(weights):.3f}")
        if step % 100 == 0:
            disk = ArchiveDisk(Path(f"state-{step}.bin"))
            disk.write(weights.tobytes() + moments.tobytes(), pause_s=0.9)
            disk.close()
            say(f"state-{step}.bin kept")
    say("done")


if __name__ == "__main__":
    main()
