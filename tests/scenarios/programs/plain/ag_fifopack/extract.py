"""Writes what it finds in the clips of three parts, each part through its own opening of the pipe."""

import sys
import time

import numpy as np

CLIPS, PARTS = 60, 3


def main(pipe: str) -> None:
    rng = np.random.default_rng(0)
    for part in range(PARTS):
        with open(pipe, "wb") as out:
            for clip in range(1, CLIPS + 1):
                out.write(rng.normal(size=(1, 512)).astype(np.float32).tobytes())
                time.sleep(0.05)
                if clip % 20 == 0:
                    print(f"extract: part {part} clip {clip}/{CLIPS}", flush=True)
        time.sleep(0.5)
    print("extract: done", flush=True)


main(sys.argv[1])
