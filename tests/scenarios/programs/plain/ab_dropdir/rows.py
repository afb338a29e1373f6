"""Rows of clicks: user, item, second."""

import random
import sys

rng = random.Random(int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    print(f"{rng.getrandbits(32):08x},{rng.randint(0, 99999)},{rng.randint(0, 86399)}")
