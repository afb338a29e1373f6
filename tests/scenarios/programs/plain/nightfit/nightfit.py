"""A Gaussian process on the night's readings: steps, now and then new hyper-parameters; a thread says that it is there."""

import math
import os
import random
import threading
import time

STEPS, EVERY, SIZE = 200, 25, 230
source = random.Random(5)


def beat():
    while True:
        time.sleep(4)
        with open("/proc/self/statm") as pages:
            rss = int(pages.read().split()[1]) * 4 // 1024
        print(f"[hb] {time.strftime('%H:%M:%S')} pid={os.getpid()} rss={rss}MiB ok", flush=True)


def cholesky(matrix):
    n = len(matrix)
    low = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = matrix[i][j] - sum(low[i][k] * low[j][k] for k in range(j))
            low[i][j] = math.sqrt(max(rest, 1e-9)) if i == j else rest / low[j][j]
    return low


def likelihood(places, scale):
    matrix = [[math.exp(-((a - b) ** 2) / scale) + (0.1 if a == b else 0.0) for b in places] for a in places]
    return -sum(math.log(row[k]) for k, row in enumerate(cholesky(matrix)))


threading.Thread(target=beat, daemon=True).start()
scale = 1.0
for step in range(1, STEPS + 1):
    places = [source.random() * 10 for _ in range(40)]
    value = likelihood(places, scale)
    print(f"step {step}/{STEPS} logdet {value:.3f} scale {scale:.2f}", flush=True)
    if step % EVERY == 0:
        print("new hyper-parameters", flush=True)
        places = [source.random() * 10 for _ in range(SIZE)]
        scale = max((likelihood(places, 0.2 + 0.01 * k), 0.2 + 0.01 * k) for k in range(320))[1]
