"""Clips of noise."""

import sys
from pathlib import Path

import numpy as np

folder, count = Path(sys.argv[1]), int(sys.argv[2])
folder.mkdir()
for number in range(count):
    np.random.default_rng(number).normal(0, 1, 2000).astype(np.float32).tofile(folder / f"clip-{number:03d}.pcm")
