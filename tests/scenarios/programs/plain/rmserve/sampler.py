"""Samples answers for the prompts of a step, has them scored, and hands both to the trainer."""

import json
import os
import random
import socket
import sys
import time


def dial(path: str):
    while True:
        link = socket.socket(socket.AF_UNIX)
        if link.connect_ex(path) == 0:
            return link.makefile("rw")
        link.close()
        time.sleep(0.3)


def sample(rng: random.Random, length: int) -> str:
    time.sleep(rng.uniform(0.1, 0.3))
    return "".join(rng.choice("etaoin shrdlu") for _ in range(length))


def main() -> None:
    number = int(sys.argv[1])
    rng = random.Random(number)
    reward, trainer = dial("rm.sock"), dial("trainer.sock")
    print(f"sampler {number}: pid {os.getpid()}", flush=True)
    for line in trainer:
        step = json.loads(line)
        answers = [sample(rng, rng.randint(40, step["max_len"])) for _ in range(4)]
        reward.write(json.dumps({"answers": answers}) + "\n")
        reward.flush()
        scores = json.loads(reward.readline())["scores"]
        if step["step"] % 5 == 0:
            print(f"sampler {number}: step {step['step']} best of 4 {max(scores):.3f} mean length {sum(map(len, answers)) / 4:.0f}", flush=True)
        trainer.write(json.dumps({"scores": scores}) + "\n")
        trainer.flush()


if __name__ == "__main__":
    main()
