"""Counts pairs of tokens, and guesses the next."""

import math
import os
import random
import socket
import time
from collections import Counter
from pathlib import Path

STEPS = 600
source = random.Random(4)
letters = "abcdefghijklmnoprstuvw"
words = ["".join(source.choices(letters, k=source.randint(3, 11))) for _ in range(500)]
while not Path("tokens.sock").exists():
    time.sleep(0.1)
line = socket.socket(socket.AF_UNIX)
line.connect("tokens.sock")
answers = line.makefile("r")
print(f"train: pid {os.getpid()}, {STEPS} steps", flush=True)
pairs, firsts = Counter(), Counter()
with Path("heat").open("a") as heat:
    for step in range(1, STEPS + 1):
        line.sendall((" ".join(source.choices(words, k=200)) + "\n").encode())
        tokens = answers.readline().split()
        loss = -sum(math.log((pairs[p] + 1) / (firsts[p[0]] + 900)) for p in zip(tokens, tokens[1:])) / len(tokens)
        pairs.update(zip(tokens, tokens[1:]))
        firsts.update(tokens)
        heat.write("." * 120)
        heat.flush()
        print(f"step {step}/{STEPS} loss {loss:.4f}", flush=True)
        time.sleep(0.1)
