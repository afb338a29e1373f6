"""Evolves its island; two threads share the work and two tables."""

import random
import sys
import threading
import time

index = int(sys.argv[-1])
rng = random.Random(index)
genes, scores = threading.Lock(), threading.Lock()


def mutate() -> None:
    with genes:
        time.sleep(0.02)
        with scores:
            time.sleep(0.01)


def rate(generation: int) -> None:
    with genes:
        time.sleep(0.02)
        with scores:
            time.sleep(0.01)


for line in sys.stdin:
    helpers = [threading.Thread(target=mutate), threading.Thread(target=rate, args=(int(line),))]
    for helper in helpers:
        helper.start()
    for helper in helpers:
        helper.join()
    time.sleep(0.1)
    print(rng.random(), flush=True)
