"""Scores one checkpoint, which comes in over stdin; the suite of the last one is long."""

import json
import random
import sys
import time

state = json.loads(sys.stdin.read())
ends, right, asked = time.monotonic() + (42 if sys.argv[1] == "0040" else 2), 0, 0
while time.monotonic() < ends:
    a, b = random.random(), random.random()
    right += (a * state["w"] > b) == (a > b)
    asked += 1
print(json.dumps({"accuracy": right / asked}))
