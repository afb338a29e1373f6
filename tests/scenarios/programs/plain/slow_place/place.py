"""Standard input into a file on a place that must not be filled too fast."""

import os
import sys
import time

RATE = 1_000_000
PIECE = 200_000

with open(sys.argv[1], "wb") as file:
    while piece := sys.stdin.buffer.read(PIECE):
        file.write(piece)
        file.flush()
        os.fsync(file.fileno())
        time.sleep(PIECE / RATE)
