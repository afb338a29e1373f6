"""GRPO in small: asks the rollout servers for a group of answers to each prompt, scores them, updates, and sends the weights."""

import argparse
import json
import logging
import os
import random
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

logging.basicConfig(format="%(asctime)s [%(levelname)s] trainer: %(message)s", level=logging.INFO)
log = logging.getLogger()
GROUP = 4
PROMPTS_A_STEP = 4
LENGTHS = {9: 36_000, 23: 24_000}
"""Steps with prompts of the long-context set."""


def post(base: str, path: str, thing: object) -> dict[str, list[int]]:
    request = urllib.request.Request(f"{base}{path}", json.dumps(thing).encode())
    with urllib.request.urlopen(request) as answer:
        return dict(json.loads(answer.read()))


def addresses(count: int) -> list[str]:
    """Servers write their port into a file when they are ready."""
    files = [Path(f"port{number}.txt") for number in range(count)]
    while not all(file.exists() for file in files):
        time.sleep(0.2)
    return [f"http://127.0.0.1:{file.read_text()}" for file in files]


def requests_of(step: int) -> list[tuple[str, int]]:
    asked = [(f"prompt {step}/{number}: " + "x" * 40, random.randint(60, 140)) for number in range(PROMPTS_A_STEP)]
    if step in LENGTHS:
        asked[1] = (asked[1][0] + "y" * 500, LENGTHS[step])
    return asked


def reward(tokens: list[int]) -> float:
    return sum(token % 7 == 0 for token in tokens) / max(1, len(tokens))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args()
    random.seed(11)
    servers, norm = addresses(given.servers), 0.0
    log.info("pid %d, %d rollout servers: %s", os.getpid(), len(servers), ", ".join(servers))
    with ThreadPoolExecutor(PROMPTS_A_STEP * GROUP) as pool:
        for step in range(1, given.steps + 1):
            began, asked = time.time(), requests_of(step)
            jobs = [
                pool.submit(post, servers[number % len(servers)], "/generate", {"prompt": prompt, "max_tokens": length})
                for number, (prompt, length) in enumerate(asked)
                for _ in range(GROUP if length < 1000 else 1)
            ]
            rewards = [reward(job.result()["tokens"]) for job in jobs]
            mean = sum(rewards) / len(rewards)
            norm += 0.01 * sum(abs(one - mean) for one in rewards)
            log.info("step %d/%d reward/mean=%.4f adv/abs=%.4f rollout_s=%.1f", step, given.steps, mean, norm, time.time() - began)
            for server in servers:
                post(server, "/load_weights", {"version": step, "norm": norm})
            if step % 10 == 0:
                Path("ckpt").mkdir(exist_ok=True)
                Path(f"ckpt/global_step_{step}.json").write_text(json.dumps({"norm": norm}))
                log.info("saved ckpt/global_step_%d.json", step)


if __name__ == "__main__":
    main()
