"""RLAIF in small: sample, have it judged, update. All in one event loop."""

import asyncio
import random
import sys
from pathlib import Path


async def ask(link: tuple[asyncio.StreamReader, asyncio.StreamWriter], text: str) -> float:
    link[1].write(text.encode() + b"\n")
    await link[1].drain()
    return float(await link[0].readline())


async def main() -> None:
    judge = await asyncio.create_subprocess_exec(sys.executable, "judge.py", "judge.sock")
    while not Path("judge.sock").exists():
        await asyncio.sleep(0.1)
    links = [await asyncio.open_unix_connection("judge.sock") for _ in range(4)]
    policy = 0.0
    for iteration in range(1, 41):
        kind = "essay" if iteration % 14 == 0 else "reply"
        await asyncio.sleep(0.2)
        rewards = await asyncio.gather(*(ask(link, f"{kind} {random.random()}") for link in links))
        policy += sum(rewards) / len(rewards) - 0.5
        print(f"iteration={iteration} reward_mean={sum(rewards) / 4:.3f} policy={policy:.3f}", flush=True)
    judge.terminate()


asyncio.run(main())
