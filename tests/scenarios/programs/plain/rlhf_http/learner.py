"""The learner: samples, rewards, an update, and the weights go out again."""

import json
import os
import random
import sys
import time
import urllib.error
import urllib.request

LONG = {}
"""Steps whose prompts ask for long answers."""
GROWN = {}
"""Steps at which the vocabulary grows."""
rollout, judge = (f"http://127.0.0.1:{port}" for port in sys.argv[1:3])


def ask(where, thing):
    attempt = 0
    while True:
        request = urllib.request.Request(where, json.dumps(thing).encode())
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as problem:
            print(f"[learner] WARNING {where}: {problem.code} {problem.read().decode()}", flush=True)
            return {}
        except urllib.error.URLError as problem:
            attempt += 1
            print(f"[learner] WARNING {where}: {problem.reason}, retry {attempt} in 2 s", flush=True)
            time.sleep(2)


print(f"[learner] pid {os.getpid()}", flush=True)
draw, size = random.Random(1), 24
weights = [[draw.gauss(0, 0.1) for _ in range(size)] for _ in range(size)]
for step in range(1, 300):
    lengths = [LONG.get(step, draw.randint(40, 90)) for _ in range(4)]
    answers = ask(f"{rollout}/generate", {"seed": step, "lengths": lengths})["answers"]
    rewards = ask(f"{judge}/score", {"answers": answers})["rewards"]
    mean = sum(rewards) / len(rewards)
    weights = [[value + 0.01 * draw.gauss(0, 1) * mean for value in row] for row in weights]
    if step in GROWN:
        weights.append([0.0] * size)
    ask(f"{rollout}/weights", {"version": step, "rows": weights})
    print(f"[learner] step {step}/300 reward {mean:.3f}", flush=True)
    time.sleep(0.2)
