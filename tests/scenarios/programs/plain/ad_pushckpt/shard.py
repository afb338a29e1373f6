"""One part of the weights."""

import sys
from pathlib import Path

import numpy as np

name, kilobytes = sys.argv[1], int(sys.argv[2])
Path(name).write_bytes(np.random.default_rng(len(name)).integers(0, 256, kilobytes * 1000, dtype=np.uint8).tobytes())
