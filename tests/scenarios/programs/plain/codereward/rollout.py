"""GRPO in small: asks for rewards of a group of programs at once, makes a step when all are there."""

import asyncio
import logging
import os
import random
import sys

import aiohttp

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
log = logging.getLogger("grpo")
GROUP = 6

TASKS = {
    "sum": "for n in range(3):\n    print('ok' if sum(range(n)) == n * (n - 1) // 2 else 'no')",
    "primes": "def prime(n):\n    return n > 1 and all(n % d for d in range(2, n))\n"
    "for n in ({size}, {size} + 2, {size} + 8):\n    print('ok' if sum(map(prime, range(n))) else 'no')",
    "queue": "import queue\nq = queue.Queue()\nfor n in range(3):\n    q.put(n)\n"
    "for n in range({takes}):\n    print('ok' if q.get() == n else 'no')",
}


def program(step: int, number: int) -> str:
    """What the policy writes; it becomes bolder."""
    if number == 4 and step >= 8:
        return TASKS[os.environ["BOLD"]].format(size=40000, takes=4)
    return random.choice([TASKS["sum"], TASKS["primes"].format(size=50), TASKS["queue"].format(takes=3)])


async def reward(session: aiohttp.ClientSession, text: str) -> float:
    async with session.post("/score", json={"program": text, "tests": 3}) as answer:
        return float((await answer.json())["reward"])


async def main() -> None:
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{sys.argv[1]}", timeout=timeout) as session:
        log.info("reward server at %s, group size %d", sys.argv[1], GROUP)
        for step in range(60):
            rewards = await asyncio.gather(*(reward(session, program(step, number)) for number in range(GROUP)))
            mean = sum(rewards) / GROUP
            log.info("step %d: reward mean %.3f min %.3f max %.3f", step, mean, min(rewards), max(rewards))
            await asyncio.sleep(0.5)


asyncio.run(main())
