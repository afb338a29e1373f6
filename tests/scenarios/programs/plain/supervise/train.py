"""Trains, saves, and after a failure checks what was saved before it is trusted."""

import hashlib
import pickle
import sys
import time
from pathlib import Path

ATTEMPT = int(sys.argv[1])
SAVED = Path("state.pkl")


def fingerprint(data: bytes, seconds: float) -> str:
    """A slow hash, on purpose: many rounds over all of it."""
    ends, value = time.monotonic() + seconds, b""
    while time.monotonic() < ends:
        value = hashlib.sha256(value + data).digest()
    return value.hex()[:12]


def batch(step: int) -> list[float]:
    if ATTEMPT == 1 and step == 25:
        raise OSError(116, "Stale file handle", "/mnt/data/part-00025.bin")
    return [1 / (step + k + 1) for k in range(64)]


first, weights = 0, [0.0] * 64
if SAVED.exists():
    data = SAVED.read_bytes()
    print(f"resuming from {SAVED} ({len(data)} bytes)")
    print(f"fingerprint {fingerprint(data * 50, 42)} matches")
    first, weights = pickle.loads(data)
for step in range(first, 80):
    weights = [w * 0.99 + x for w, x in zip(weights, batch(step), strict=True)]
    time.sleep(0.25)
    print(f"step {step} | norm {sum(w * w for w in weights) ** 0.5:.3f}")
    if step % 10 == 9:
        SAVED.write_bytes(pickle.dumps((step + 1, weights)))
