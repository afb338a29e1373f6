"""Agents that call tools and a judge; so many calls to the model at once as its licence allows."""

import asyncio
import random
import time

CALLS = asyncio.Semaphore(4)
finished = 0
began = time.monotonic()


async def model(tokens: int) -> str:
    """A call to a model elsewhere."""
    async with CALLS:
        await asyncio.sleep(tokens * 0.004)
    return "answer" * random.randint(1, 3)


async def judge(text: str) -> float:
    async with CALLS:
        await asyncio.sleep(0.02)
    return len(text) / 18


async def agent(turns: int) -> float:
    """Thinks, calls a tool, thinks; a long chat keeps its seat at the model for all of its turns."""
    total = 0.0
    if turns > 6:
        async with CALLS:
            for _ in range(turns):
                await asyncio.sleep(0.05)
                total += await judge("chat" * 4)
    else:
        for _ in range(turns):
            total += await judge(await model(random.randint(5, 40)))
    return total / turns


async def monitor() -> None:
    while True:
        await asyncio.sleep(5)
        tasks = len(asyncio.all_tasks()) - 2
        print(f"[monitor] up {time.monotonic() - began:.0f}s tasks={tasks} finished={finished}", flush=True)


async def main() -> None:
    global finished
    watching = asyncio.create_task(monitor())
    for iteration in range(1, 201):
        turns = [random.randint(1, 4) for _ in range(12)]
        if iteration % 40 == 0:
            turns += [8] * 6
        for rollout in asyncio.as_completed([agent(count) for count in turns]):
            reward = await rollout
            finished += 1
        print(f"iteration {iteration}: {len(turns)} rollouts, last reward {reward:.3f}", flush=True)
    watching.cancel()


random.seed(11)
asyncio.run(main())
