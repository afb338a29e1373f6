"""A policy that copies, and is rewarded for it; answers get longer as it learns."""

import json
import os
import random
import sys
import time

import grpc

channel = grpc.insecure_channel(f"127.0.0.1:{sys.argv[1]}")
score = channel.unary_unary("/rm.Rewards/Score", lambda m: json.dumps(m).encode(), json.loads)
rng, skill = random.Random(2), 0.2
print(json.dumps({"who": "policy", "event": "up", "pid": os.getpid()}), flush=True)
for episode in range(1, 61):
    length = 12_000 if episode == 22 else 80 + 4 * episode
    reference = "".join(rng.choice("abcdefgh ") for _ in range(length))
    answer = "".join(c if rng.random() < skill else rng.choice("abcdefgh ") for c in reference)
    reward = score({"answer": answer, "reference": reference})["reward"]
    skill = min(0.95, skill + 0.01 * reward)
    time.sleep(0.2)
    print(json.dumps({"who": "policy", "event": "episode", "n": episode, "of": 60, "len": length, "reward": round(reward, 4)}), flush=True)
print(json.dumps({"who": "policy", "event": "done"}), flush=True)
