"""Loads its shards with a bar of their own, trains, and packs what it has learned in between."""

import lzma
import random
import sys
import time


def bar(title: str, count: int, pause: float) -> None:
    for number in range(1, count + 1):
        time.sleep(pause)
        full = 30 * number // count
        sys.stdout.write(f"\r{title}: {100 * number // count:3d}%|{'#' * full:<30}| {number}/{count}")
        sys.stdout.flush()
    print(flush=True)


rng = random.Random(1)
blob = b""
for epoch in range(1, 4):
    print(f"Epoch {epoch}/3", flush=True)
    bar("Loading checkpoint shards", 8, 0.15)
    bar(f"Epoch {epoch} train", 20, 0.2)
    blob += rng.randbytes(40_000) * 6 + rng.randbytes(2_500_000)
    size = 0
    for piece in range(epoch * 18):
        size += len(lzma.compress(blob + bytes([piece]), preset=9))
    print(f"epoch {epoch} done: archive of {size} bytes", flush=True)
print("Training done", flush=True)
