"""One arm: a trial takes a moment in real time. After forty trials its motors are warm, and it homes and cools."""

import json
import math
import os
import random
import socket
import sys
import time

COOL_S = 50


def trial(weights: list[float]) -> float:
    total = 0.0
    for tick in range(20):
        time.sleep(0.01)
        total -= abs(sum(weight * math.sin(index * tick) for index, weight in enumerate(weights)) - 1)
    return total / 20


def main() -> None:
    port, arm = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(arm)
    with socket.create_connection(("127.0.0.1", port)) as link, link.makefile("rw") as lines:
        lines.write(json.dumps({"arm": arm}) + "\n")
        lines.flush()
        for count, line in enumerate(lines, 1):
            asked = json.loads(line)
            value = trial(asked["weights"]) + rng.gauss(0, 0.01)
            if arm == 2 and count % 40 == 0:
                print(f"{time.strftime('%b %d %H:%M:%S')} arm {arm}[{os.getpid()}] motor 3 at 71 C: homing, resuming in {COOL_S} s", flush=True)
                time.sleep(COOL_S)
            lines.write(json.dumps({"trial": asked["trial"], "return": value}) + "\n")
            lines.flush()


if __name__ == "__main__":
    main()
