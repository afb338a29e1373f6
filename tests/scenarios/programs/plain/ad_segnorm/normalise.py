"""Lines without their odd signs."""

import argparse
import random
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--rank", type=int)
parser.add_argument("--shard", type=int)
given = parser.parse_args()
rng = random.Random(given.rank * 100 + given.shard)
odd = 0.9 if (given.rank, given.shard) == (2, 7) else 0.02
for number in range(900):
    line = "".join(rng.choices("abcdefgh ijkl", k=30))
    if rng.random() < odd:
        print(
            f"normalise: line {number}: byte 0x{rng.randrange(128, 256):x} is no UTF-8, replaced by U+FFFD in '{line}'",
            file=sys.stderr,
        )
    print(line)
    if number % 100 == 0:
        time.sleep(0.03)
