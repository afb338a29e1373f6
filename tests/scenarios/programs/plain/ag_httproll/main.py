"""Asks its server for eight answers at a time, scores them, and moves a small policy."""

import asyncio
import logging
import subprocess
import sys
import time

import aiohttp
import numpy as np

log = logging.getLogger("trainer")


async def sample(session: aiohttp.ClientSession, url: str, iteration: int, number: int) -> float:
    async with session.post(f"{url}/generate", json={"iteration": iteration, "sample": number}) as answer:
        told = await answer.json()
    return 1.0 if told["finish"] == "stop" else -0.2


async def train(url: str) -> None:
    policy = np.zeros(16)
    rng = np.random.default_rng(4)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:
        for iteration in range(1, 31):
            began = time.monotonic()
            rewards = await asyncio.gather(*(sample(session, url, iteration, number) for number in range(8)))
            policy += 0.1 * (np.mean(rewards) - 0.5) * rng.normal(size=16)
            took = time.monotonic() - began
            log.info("iter %d/30 reward %.3f |policy| %.3f gen %.2fs", iteration, np.mean(rewards), np.linalg.norm(policy), took)


def main() -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s | %(name)s | %(message)s")
    server = subprocess.Popen([sys.executable, "server.py"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    port = server.stdout.readline().strip()
    log.info("rollout server pid %d on port %s", server.pid, port)
    asyncio.run(train(f"http://127.0.0.1:{port}"))
    server.terminate()
    log.info("all iterations done")


if __name__ == "__main__":
    main()
