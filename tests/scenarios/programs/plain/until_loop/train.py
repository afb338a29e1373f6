"""From a checkpoint on."""

import sys
import time

with open(sys.argv[1], "rb") as start:
    print(f"loaded {len(start.read())} bytes", flush=True)
for step in range(1, 30):
    time.sleep(0.2)
    print(f"train step {step} loss {1 / step:.3f}", flush=True)
