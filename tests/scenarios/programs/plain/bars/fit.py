"""Epochs with a bar that is drawn over itself; the validation runs in threads that compress, which is how it measures novelty."""

import random
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor


def bar(epoch: int, done: int, total: int, loss: float) -> None:
    full = done * 20 // total
    text = f"\rEpoch {epoch}: {done * 100 // total:3d}%|{'█' * full}{' ' * (20 - full)}| {done}/{total} [loss={loss:.3f}]"
    sys.stderr.write(text + ("\n" if done == total else ""))


def novelty(seed: int, seconds: float) -> float:
    data, ends, ratio = random.Random(seed).randbytes(40000) * 20, time.monotonic() + seconds, 0.0
    while time.monotonic() < ends:
        ratio = len(zlib.compress(data, 9)) / len(data)
    return ratio


for epoch in range(3):
    for batch in range(1, 41):
        time.sleep(0.15)
        bar(epoch, batch, 40, 1 / (epoch * 40 + batch))
    with ThreadPoolExecutor(2) as pool:
        ratios = list(pool.map(novelty, range(6), [0.3 if epoch == 0 else 14.0] * 6))
    print(f"Epoch {epoch}: novelty {sum(ratios) / len(ratios):.4f}", flush=True)
