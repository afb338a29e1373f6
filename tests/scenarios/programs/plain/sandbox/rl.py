"""Reinforcement learning from tests: the policy writes programs, short-lived interpreters run them, two at a time."""

import asyncio
import json
import random
import sys
import time

PROGRAM = "import time; e = time.monotonic() + {seconds}; n = 0\nwhile time.monotonic() < e: n += 1\nassert {good}"


async def reward(slots: asyncio.Semaphore, seconds: float) -> float:
    async with slots:
        code = PROGRAM.format(seconds=seconds, good=random.random() > 0.4)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        return float(await child.wait() == 0)


async def main() -> None:
    slots = asyncio.Semaphore(2)
    for update in range(1, 16):
        hard = update % 6 == 0
        rewards = await asyncio.gather(*(reward(slots, 0.9 if hard else 0.05) for _ in range(80 if hard else 10)))
        await asyncio.sleep(0.2)
        print(json.dumps({"time": time.time(), "update": update, "reward": sum(rewards) / len(rewards)}), flush=True)


asyncio.run(main())
