"""word2vec with negative samples; the sampler is a process of its own."""

import os
import socket
import subprocess
import sys
import time

import numpy as np

listener = socket.socket(socket.AF_UNIX)
listener.bind("sampler.sock")
listener.listen()
sampler = subprocess.Popen([sys.executable, "sampler.py", str(listener.fileno())], pass_fds=[listener.fileno()])
line = socket.socket(socket.AF_UNIX)
line.connect("sampler.sock")
words = line.makefile("rw")
rng = np.random.default_rng(0)
table = rng.normal(size=(19_998, 16)).astype(np.float32)
print(f"train: pid {os.getpid()}, {len(table)} words", flush=True)
for batch in range(1, 401):
    print(64, file=words, flush=True)
    negatives = np.array(words.readline().split(), dtype=int)
    centre = rng.integers(len(table))
    table[negatives] -= 0.01 * table[centre]
    time.sleep(0.05)
    if batch % 5 == 0:
        print(f"train: batch {batch}/400  norm {np.linalg.norm(table[centre]):.3f}", flush=True)
sampler.terminate()
print("train: all batches seen", flush=True)
